"""Which headers travel, which never do, and what a body may be said to be."""

from pathlib import Path

import pytest

from handfast.core.call.caller import ANYONE
from handfast.gateway.http.exchange import HttpExchange, HttpProblem
from handfast.gateway.http.headers import (
    Form,
    UpstreamHeaders,
    check_described,
    check_repeated,
    form_of,
    has_extensions,
    to_client,
)
from handfast.gateway.http.request_head import RequestHead
from tests.gateway.running import TEXT, running
from tests.stubs.run import answer, serving, tool, write_stub

Headers = list[tuple[bytes, bytes]]
NOT_ON_THE_LIST = [
    b"authorization", b"cookie", b"origin", b"host", b"referer", b"proxy-authorization", b"expect", b"connection",
    b"keep-alive", b"te", b"trailer", b"transfer-encoding", b"upgrade", b"accept-encoding", b"content-length",
    b"content-type", b"content-encoding", b"content-language", b"x-forwarded-for", b"x-forwarded-host", b"forwarded",
    b"x-real-ip", b"x-http-method-override", b"mcp_session_id", b"mcp-session_id", b"x-mcp-name", b"last_event_id",
]  # fmt: skip
UTF_8 = [b"", b";", b"; charset=utf-8", b';charset="UTF-8"', b" ;\t Charset=Utf-8 ", b"; charset=utf-8;"]
OTHER = [
    b"; charset=utf-7", b"; charset=utf-16le", b"; charset=utf-8; charset=utf-7", b"; charset=utf-7; charset=utf-8",
    b'; charset="utf-7"', b"; charset='utf-8'", b"; charset=", b"; charset", b"; charset=utf8", b"; boundary=x",
    b"; charset*=utf-8''utf-7", b", application/json", b"/x", b"x", b"; charset=utf-8 utf-7", b'; charset="utf\\-8"',
    b"\x0b; charset=utf-8", b"; charset=utf-8, text/plain",
]  # fmt: skip


class Unused:
    """A connection on which nothing is received or sent."""

    caller = ANYONE
    is_write_paused = False


def exchange(headers: Headers) -> HttpExchange:
    head = RequestHead("POST", "/mcp", b"", headers, dict(reversed(headers)), is_version_1_0=False)
    return HttpExchange(Unused(), head)  # type: ignore[arg-type]  # all that is asked of it


@pytest.mark.requirement("S1")
def test_only_what_is_on_the_list_goes_to_a_server() -> None:
    kept = [
        (b"accept", b"*/*"), (b"last-event-id", b"7"), (b"mcp-session-id", b"s"), (b"mcp-protocol-version", b"v"),
        (b"mcp-method", b"m"), (b"mcp-name", b"n"), (b"mcp-param-x", b"1"), (b"mcp-later", b"1"),
        (b"traceparent", b"00-"), (b"tracestate", b"t"), (b"user-agent", b"u"),
    ]  # fmt: skip
    given = [*kept, *((name, b"x") for name in NOT_ON_THE_LIST)]
    assert sorted(UpstreamHeaders([]).choose(given)) == sorted(kept)


@pytest.mark.requirement("S1")
def test_a_request_without_a_body_names_nothing_to_call() -> None:
    kept = [(b"mcp-session-id", b"s"), (b"last-event-id", b"7"), (b"mcp-named", b"1"), (b"x-key", b"o")]
    given = [*kept[:3], (b"mcp-method", b"tools/call"), (b"mcp-name", b"pay"), (b"mcp-param-to", b"me")]
    assert UpstreamHeaders(kept[3:]).choose_without_body(given) == kept


@pytest.mark.requirement("S1")
def test_what_the_operator_configured_wins() -> None:
    given = [(b"x-key", b"client"), (b"accept", b"*/*"), (b"mcp-param-a", b"1"), (b"mcp-name", b"client")]
    configured = [(b"x-key", b"operator"), (b"authorization", b"Bearer o"), (b"mcp-param-a", b"2"), (b"mcp-name", b"o")]
    assert UpstreamHeaders(configured, [b"x-key"]).choose(given) == [(b"accept", b"*/*"), *configured]


@pytest.mark.requirement("S1")
def test_an_operator_may_add_to_the_list_and_describe_no_body() -> None:
    headers = UpstreamHeaders([(b"content-type", b"text/xml"), (b"content-encoding", b"br")], [b"x-tenant"])
    assert headers.choose([(b"x-tenant", b"a"), (b"x-other", b"b")]) == [(b"x-tenant", b"a")]


@pytest.mark.requirement("S1")
def test_an_argument_s_header_passes_only_where_it_cannot_be_taken_for_another() -> None:
    headers = UpstreamHeaders([])
    assert headers.choose([(b"mcp-param-user_id", b"1")]) == [(b"mcp-param-user_id", b"1")]
    assert headers.choose([(b"mcp-param-a_b", b"1"), (b"mcp-param-a-b", b"2")]) == [(b"mcp-param-a-b", b"2")]
    assert headers.choose([(b"mcp-param-a_b-c", b"1"), (b"mcp-param-a-b_c", b"2")]) == []


def test_arguments_in_headers_are_noticed() -> None:
    assert has_extensions([b"mcp-name", b"mcp-param-x"])
    assert not has_extensions([b"mcp-name", b"host", b"content-type"])


@pytest.mark.requirement("S1")
def test_only_what_is_on_the_list_goes_to_a_client() -> None:
    kept = [(b"allow", b"POST"), (b"mcp-session-id", b"s"), (b"mcp-protocol-version", b"v"), (b"retry-after", b"1")]
    names = [b"set-cookie", b"content-length", b"content-type", b"content-encoding", b"server", b"date", b"x-rate"]
    names += [b"www-authenticate", b"location", b"access-control-allow-origin", b"transfer-encoding", b"connection"]
    assert sorted(to_client([*kept, *((name, b"x") for name in names)])) == sorted(kept)


@pytest.mark.requirement("S1")
def test_of_two_sessions_in_an_answer_the_client_gets_the_one_that_we_read() -> None:
    assert to_client([(b"mcp-session-id", b"a"), (b"mcp-session-id", b"b")]) == [(b"mcp-session-id", b"a")]


@pytest.mark.requirement("S1")
@pytest.mark.parametrize("parameters", UTF_8)
def test_json_in_utf_8_is_read(parameters: bytes) -> None:
    check_described(exchange([(b"content-type", b"Application/JSON" + parameters)]))
    assert form_of([(b"content-type", b"application/json" + parameters)]) is Form.JSON
    assert form_of([(b"content-type", b"text/event-stream" + parameters)]) is Form.EVENTS


@pytest.mark.requirement("S1")
@pytest.mark.parametrize("parameters", OTHER)
def test_anything_else_is_not(parameters: bytes) -> None:
    with pytest.raises(HttpProblem) as refused:
        check_described(exchange([(b"content-type", b"application/json" + parameters)]))
    assert (refused.value.status, refused.value.rule) == (415, "request.unreadable")
    for kind in (b"application/json", b"text/event-stream"):
        assert form_of([(b"content-type", kind + parameters)]) is Form.OTHER


@pytest.mark.requirement("S7")
def test_two_content_types_of_an_answer_are_none() -> None:
    assert form_of([(b"content-type", b"application/json")] * 2) is form_of([]) is Form.OTHER


@pytest.mark.requirement("S1")
@pytest.mark.parametrize("value", [b"gzip", b"identity, gzip"])
def test_an_encoded_body_is_refused(value: bytes) -> None:
    plain = (b"content-type", b"application/json")
    check_described(exchange([plain, (b"content-encoding", b"Identity")]))
    with pytest.raises(HttpProblem) as refused:
        check_described(exchange([plain, (b"content-encoding", value)]))
    assert refused.value.status == 415


@pytest.mark.requirement("S7")
@pytest.mark.parametrize(
    "name",
    [
        b"host",
        b"origin",
        b"content-type",
        b"content-encoding",
        b"authorization",
        b"last-event-id",
        b"user-agent",
        b"mcp-session-id",
        b"mcp-protocol-version",
        b"mcp-method",
        b"mcp-name",
        b"mcp-param-x",
    ],
)
def test_a_header_that_says_something_to_us_stands_once(name: bytes) -> None:
    with pytest.raises(HttpProblem) as refused:
        check_repeated(exchange([(name, b"a"), (b"accept", b"x"), (name, b"a")]))
    assert (refused.value.status, refused.value.rule) == (400, "request.repeated_header")


@pytest.mark.parametrize("name", [b"accept", b"tracestate", b"cookie", b"x-forwarded-for", b"via"])
def test_lists_may_come_in_pieces(name: bytes) -> None:
    check_repeated(exchange([(name, b"a"), (name, b"b")]))


@pytest.mark.requirement("B7")
@pytest.mark.requirement("S1")
def test_headers_on_the_wire(tmp_path: Path) -> None:
    stub = write_stub(tmp_path, tools=[tool("add")], answers={"add": answer(TEXT)}, sessions=False)
    with serving(stub, "http-json") as url:
        entry = {
            "url": url,
            "headers": {"Authorization": "Bearer operator", "Content-Type": "text/xml"},
            "handfast": {"forward_headers": ["X-Tenant"]},
        }
        with running({"up": entry}, tmp_path) as gateway:
            client = gateway.client()
            body = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add"}}'
            given = {
                "Authorization": "Bearer client",
                "Cookie": "c=1",
                "Mcp-Param-Region": "eu",
                "Accept-Encoding": "br",
                "X-Tenant": "t",
                "X-Other": "o",
            }
            assert client.post(body, client.headers(body) | given).text == "fine"
    (reached,) = stub.journal.calls("add")
    assert dict(reached.headers) == {
        "host": url.split("/")[2],
        "accept": "application/json, text/event-stream",
        "accept-encoding": "identity",
        "authorization": "Bearer operator",
        "content-length": str(len(reached.bytes)),
        "content-type": "application/json",
        "mcp-param-region": "eu",
        "x-tenant": "t",
    }
    assert {received.headers["content-type"] for received in stub.journal.messages()} == {"application/json"}


@pytest.mark.requirement("S1")
@pytest.mark.parametrize("repeated", [b"; ", b" ;", b";", b"; charset=utf-8", b"\t;\t "])
def test_no_content_type_takes_long_to_read(repeated: bytes) -> None:
    """A pattern would try each blank twice: forty of them stopped the gateway for days."""
    kind = b"application/json" + repeated * 2000
    assert form_of([(b"content-type", kind + b"x")]) is Form.OTHER
    assert form_of([(b"content-type", kind)]) is Form.JSON
