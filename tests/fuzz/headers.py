"""Headers that are odd, one on each line; the first of a table is the plain one."""

from tests.fuzz.client import Headers
from tests.fuzz.texts import Dice


def table(text: str) -> tuple[bytes, ...]:
    return tuple(line.strip().encode() for line in text.strip().splitlines())


def header_table(text: str) -> Headers:
    pairs = (line.partition(b": ") for line in table(text))
    return tuple((name, value) for name, _, value in pairs)


JSON_TYPES = table("""
    application/json
    application/json; charset=utf-8
    application/json; charset=utf-7
    application/json;charset=UTF-7
    application/json; charset="utf-7"
    application/json; charset='utf-7'
    application/json; charset=utf-16
    application/json; charset=utf-16le
    application/json; charset=utf-32
    application/json; charset=shift_jis
    application/json; charset=ibm037
    application/json; charset=iso-2022-jp
    application/json; charset=utf-8; charset=utf-7
    application/json; charset=utf-7; charset=utf-8
    application/json; CHARSET=UTF-7
    application/json\t; charset = utf-7
    application/json; x="; charset=utf-7"
    application/json; charset*=utf-8''utf-7
    application/json; q=1; charset=utf-7-imap
    application/json;charset=utf-8,application/json;charset=utf-7
    application/json, text/plain
    application/json; boundary=x
    application/json;
    Application/JSON
    application/jsonp
    application/problem+json
    application/octet-stream
    text/plain
    text/html; charset=utf-7
    text/event-stream
""")
UTF7_TYPES = tuple(kind for kind in JSON_TYPES if b"utf-7" in kind.lower())
EVENT_TYPES = table("""
    text/event-stream
    text/event-stream; charset=utf-8
    text/event-stream;charset=utf-7
    text/event-stream; charset=utf-16
    text/event-stream; charset=iso-8859-1
    text/event-stream, application/json
    text/event-stream;
    text/event-stream; x=1
    Text/Event-Stream
    text/event-streams
""")
CODINGS = table("""
    identity
    gzip
    x-gzip
    deflate
    br
    gzip, identity
    utf-7
    chunked
""")
FROM_CLIENTS = header_table("""
    User-Agent: fuzz/1
    traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01
    tracestate: a=1
    Accept: */*
    Accept: text/html
    Accept: application/json;q=0, text/event-stream
    Accept-Charset: utf-7
    Accept-Encoding: gzip
    Last-Event-ID: 1
    Mcp-Param-X: 1
    Mcp_Param_X: 1
    Mcp-Method: ping
    Mcp-Method: tools/call
    mcp_method: ping
    Mcp-Name: hidden
    Mcp-Name: =?base64?aGlkZGVu?=
    MCP-Protocol-Version: 2025-03-26
    MCP-Protocol-Version: 2026-07-28
    Mcp-Odd: 1
    X-Forwarded-For: 1.2.3.4
    X-Forwarded-Host: evil.com
    Forwarded: for=1.2.3.4
    X-HTTP-Method-Override: DELETE
    X-Original-URL: /admin
    X-Request-Id: 1
    Content_Type: application/json; charset=utf-7
    Content_Encoding: gzip
    Content-Language: x
    Content-Location: /x
    Content-MD5: x
    Transfer_Encoding: chunked
    Authorization: Bearer x
    Cookie: a=b
    Connection: x-y, content-type
    Connection: mcp-method
    TE: trailers
    Upgrade: h2c
    Expect: 200-maybe
    Referer: http://evil.com/
    Host: localhost
    Host: [::1]
    Host: evil.com
    Host: [::1]evil.com
    Host: localhost:80@evil.com
    Host: localhost.evil.com
    Host: 127.0.0.1:99999x
    Host: 127.0.0.1:
    Host: localhost, evil.com
    Host: evil.com#localhost
    Origin: http://localhost:8080
    Origin: http://evil.com
    Origin: null
    Origin: http://evil.com@localhost
    Origin: http://localhost.evil.com
    Origin: http://[::1]evil.com
    Origin: http://localhost:80.evil.com
    Origin: http://localhost/../evil.com
    Origin: http://localhost http://evil.com
    Origin: file://localhost
""")
FROM_SERVERS = header_table("""
    Retry-After: 1
    Allow: POST
    Mcp-Session-Id: other
    Mcp-Odd: 1
    Content-Encoding: identity
    Content-Encoding: gzip
    Content-Encoding: br
    Content-Type: application/json; charset=utf-7
    Content-Type: text/event-stream
    Content-Language: x
    Content-Disposition: attachment
    Content-Range: bytes 0-1/2
    X-Odd: 1
    Set-Cookie: a=b
    Refresh: 0;url=http://evil.com
    Location: /x
    Link: <x>; rel=y
    Access-Control-Allow-Origin: *
    WWW-Authenticate: Bearer resource_metadata="http://evil.com"
    Trailer: X
    Connection: mcp-session-id
""")


def with_one_more(dice: Dice, headers: Headers, other: tuple[bytes, bytes]) -> Headers:
    """A header more, at either end; the case of its name is of no account, but some forget that."""
    name = dice.pick((other[0], other[0].lower(), other[0].upper()))
    return (*headers, (name, other[1])) if not dice.number(1) else ((name, other[1]), *headers)


def with_value(headers: Headers, name: bytes, value: bytes) -> Headers:
    return tuple((key, value if key == name else known) for key, known in headers)
