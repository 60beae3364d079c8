"""What may differ between what one side sent and what the other side got; everything else is compared to the byte.

Where messages are relayed (one server, one era) nothing may differ but the id, which is one of handfast's own behind
`serve`; nor may anything differ in a result that both sides have in the modern form. Everywhere else these may, and no
more:

    the id          each side has its own
    in a request    `_meta` keys of the protocol's own, which only modern requests carry, and the progress token
    in a result     resultType, ttlMs, cacheScope, which only modern results carry, and the protocol's own `_meta` keys
    at /mcp         `up__` before the names of tools and prompts
"""

import json
from collections.abc import Iterator

from tests.contracts.matrix.client import PREFIX
from tests.contracts.matrix.places import Place
from tests.contracts.rig import Answer, Json
from tests.stubs.run import Entry

ONLY_MODERN = ("resultType", "ttlMs", "cacheScope")
CACHED = frozenset({"tools/list", "prompts/list", "resources/list", "resources/read"})
Members = list[tuple[str, str]]  # in their order, each value as it was spelt
_READER = json.JSONDecoder(strict=False)


def members_of(text: bytes | str) -> Members:
    """The members of an object, their values to the byte."""
    return list(_members(text.decode() if isinstance(text, bytes) else text))


def _members(text: str) -> Iterator[tuple[str, str]]:
    at = _skip(text, text.index("{") + 1)
    while text[at] != "}":
        key, at = _READER.raw_decode(text, at)
        start = _skip(text, _skip(text, at) + 1)
        _, end = _READER.raw_decode(text, start)
        yield key, text[start:end]
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at


def _skip(text: str, at: int) -> int:
    while text[at] in " \t\r\n":
        at += 1
    return at


def elements_of(text: str) -> list[str]:
    """The elements of an array, to the byte."""
    found, at = [], _skip(text, text.index("[") + 1)
    while text[at] != "]":
        _, end = _READER.raw_decode(text, at)
        found.append(text[at:end])
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at
    return found


def result_of(answer: Answer) -> str:
    """The result as it is spelt."""
    return dict(members_of(answer.raw))["result"]


def is_same_result(place: Place, answer: Answer, scripted: str, method: str = "tools/call") -> bool:
    """The result is the one the server sent, and says what the client's era wants said."""
    result = result_of(answer)
    if place.is_relayed or place.client == place.server == "modern":
        assert result == scripted
        return True
    assert _comparable(result) == _comparable(scripted)
    return is_in_era(place, result, method)


def is_in_era(place: Place, result: str, method: str) -> bool:
    """The result has the members that the client's era wants of it, and none that only the other one knows."""
    names = dict(members_of(result)).keys()
    wanted = (ONLY_MODERN if method in CACHED else ONLY_MODERN[:1]) if place.client == "modern" else ()
    assert [name for name in ONLY_MODERN if name in names] == list(wanted)
    return True


def is_same_request(place: Place, sent: bytes, arrived: Entry) -> bool:
    """The server was asked what the client asked, in the server's own era."""
    message = arrived.bytes.rstrip(b"\r\n")
    meta = json.loads(message)["params"].get("_meta", {})
    assert (f"{PREFIX}protocolVersion" in meta) == (place.server == "modern")
    if place.is_relayed:
        has_own_id = place.front == "server"
        assert (_without_id(message) == _without_id(sent)) if has_own_id else message == sent
        return True
    assert _comparable(_params(message)) == _comparable(_params(sent), prefix=place.prefix)
    return True


def _params(message: bytes) -> str:
    return dict(members_of(message))["params"]


def _without_id(message: bytes) -> Members:
    return [member for member in members_of(message) if member[0] != "id"]


def _comparable(text: str, *, prefix: str = "") -> Members:
    found = [(key, value) for key, value in members_of(text) if key not in ONLY_MODERN]
    found = [(key, _own_name(value, prefix) if key == "name" else value) for key, value in found]
    meta = [(key, value) for key, value in members_of(dict(found).get("_meta", "{}")) if not _is_protocols(key)]
    return [member for member in found if member[0] != "_meta"] + [(f"_meta {key}", value) for key, value in meta]


def _is_protocols(key: str) -> bool:
    return key.startswith(PREFIX) or key == "progressToken"


def _own_name(value: str, prefix: str) -> str:
    name: Json = json.loads(value)
    return json.dumps(name.removeprefix(prefix))


def own_names(place: Place, elements: list[str]) -> list[str]:
    """Listed tools or prompts as the server called them."""
    return [element.replace(f'"name": "{place.prefix}', '"name": "', 1) for element in elements]
