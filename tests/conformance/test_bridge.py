"""The official suite through the bridge: a client of one era, a server that knows only the other, both transports."""

from conformance.bridge import carry_out_bridge
from conformance.exclusions import UPSTREAMS, read_exclusions

from tests.conformance.test_conformance import LEGACY, MODERN, broken
from tests.parts import Parts

# What the eras say differently: questions, levels, subscriptions, streams, headers. The whole suite
# takes some minutes, by scripts/conformance --bridge.
OF_LEGACY_CLIENTS = (
    "tools-call-elicitation",
    "tools-call-with-logging",
    "resources-subscribe",
    "server-sse-polling",
    "server-sse-multiple-streams",
)
OF_MODERN_CLIENTS = (
    "tools-call-with-progress",
    "http-custom-header-server-validation",
    "input-required-result-basic-elicitation",
    "input-required-result-non-tool-request",
)


def test_no_check_of_a_legacy_client_is_lost_in_front_of_a_modern_server_but_the_excluded_ones(parts: Parts) -> None:
    results = carry_out_bridge([LEGACY], UPSTREAMS, OF_LEGACY_CLIENTS, exclusions=read_exclusions())
    assert broken(results) == []
    assert [(one.upstream, one.scenarios, one.passed_through, len(one.losses)) for one in results] == [
        ("http", 5, 5, 2),
        ("stdio", 5, 5, 6),
    ]


def test_no_check_of_a_modern_client_is_lost_in_front_of_a_legacy_server_but_the_excluded_ones(parts: Parts) -> None:
    results = carry_out_bridge([MODERN], UPSTREAMS, OF_MODERN_CLIENTS, exclusions=read_exclusions())
    assert broken(results) == []
    assert [(one.upstream, one.scenarios, one.passed_through, len(one.losses)) for one in results] == [
        ("http", 4, 3, 2),  # the question without a name
        ("stdio", 4, 3, 2),
    ]
