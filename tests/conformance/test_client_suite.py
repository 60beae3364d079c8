"""The suite's client scenarios: what a server sees of a client, it sees of it through handfast."""

from conformance.client_suite import CLIENT_SUCCEEDS, carry_out_clients
from conformance.exclusions import read_left_out
from conformance.report import Loss, Result

from tests.parts import Parts

# Of each era some that a gateway could spoil; all of them take a minute, by scripts/conformance --client.
LEGACY = ("sse-retry", "elicitation-sep1034-client-defaults")
MODERN = ("request-metadata", "http-custom-headers", "sep-2322-client-request-state")


def test_no_check_of_a_client_is_lost(parts: Parts) -> None:
    results = carry_out_clients(["2025-11-25", "2026-07-28"], [*LEGACY, *MODERN], left_out=read_left_out())
    assert results == [
        Result("client", "2025-11-25", "http", 2, 2, 2, checks=16, losses=(), stale=()),
        Result("client", "2026-07-28", "http", 3, 3, 3, checks=20, losses=(), stale=()),
    ]


def test_oauth_with_a_server_behind_handfast_is_lost_which_is_why_it_is_left_out(parts: Parts) -> None:
    [result] = carry_out_clients(["2025-11-25"], ["auth/metadata-default"], left_out=read_left_out())
    [reason] = {loss.excluded for loss in result.losses}
    assert reason is not None
    assert (result.passed_directly, result.passed_through, result.is_kept) == (1, 0, True)
    assert Loss("auth/metadata-default", CLIENT_SUCCEEDS, "WARNING", reason) in result.losses
    assert Loss("auth/metadata-default", "token-request", "FAILURE", reason) in result.losses
