"""Parameters of calls: the SDK's model is asked once for a `_meta`, and always where there is more to look at."""

from typing import Any

import pytest
from mcp.types import CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY, PROTOCOL_VERSION_META_KEY
from mcp_types.methods import validate_client_request
from pydantic import ValidationError

from handfast.toolkit.serve import sdk_call_middleware
from handfast.toolkit.serve.sdk_call_middleware import SoundParams

MODERN = "2026-07-28"
META: dict[str, Any] = {
    PROTOCOL_VERSION_META_KEY: MODERN,
    CLIENT_INFO_META_KEY: {"name": "c", "version": "1"},
    CLIENT_CAPABILITIES_META_KEY: {},
}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What the SDK was asked about, by its own function."""
    seen: list[object] = []
    real = validate_client_request

    def note(method: str, version: str, params: Any) -> object:
        seen.append(params)
        return real(method, version, params)

    monkeypatch.setattr(sdk_call_middleware, "validate_client_request", note)
    return seen


def test_the_same_meta_is_asked_about_once(asked: list[object]) -> None:
    params = SoundParams()
    for number in range(5):
        params.require(MODERN, {"name": "t", "arguments": {"n": number}, "_meta": dict(META)})
    assert len(asked) == 1
    params.require(MODERN, {"name": "t", "_meta": {**META, CLIENT_INFO_META_KEY: {"name": "d", "version": "1"}}})
    assert len(asked) == 2


def test_a_legacy_call_without_meta_has_nothing_to_ask_about(asked: list[object]) -> None:
    SoundParams().require("2025-06-18", {"name": "t", "arguments": {}})
    assert asked == []


@pytest.mark.parametrize(
    "params",
    [
        {"name": 3},
        {"name": "t", "arguments": []},
        {"name": "t", "_meta": []},
        {"name": "t"},
        {"name": "t", "_meta": {**META, CLIENT_INFO_META_KEY: 3}},
        {"name": "t", "_meta": {**META, CLIENT_INFO_META_KEY: {"name": "c", "version": "1"}, "progressToken": []}},
    ],
    ids=str,
)
def test_what_the_sdk_refuses_is_refused_also_after_good_calls(params: dict[str, Any]) -> None:
    sound = SoundParams()
    sound.require(MODERN, {"name": "t", "_meta": dict(META)})
    for _ in range(2):
        with pytest.raises(ValidationError):
            sound.require(MODERN, params)


def test_what_is_remembered_is_bounded(asked: list[object]) -> None:
    params = SoundParams()
    for number in range(600):
        info = {"name": f"c{number}", "version": "1"}
        params.require(MODERN, {"name": "t", "_meta": {**META, CLIENT_INFO_META_KEY: info}})
    assert len(params._known) <= 256
    assert len(asked) == 600


@pytest.mark.parametrize(
    ("version", "params"),
    [
        (MODERN, {"name": "t", "_meta": META, "inputResponses": 3}),
        ("2025-11-25", {"name": "t", "task": 3}),
    ],
)
def test_members_beyond_a_plain_call_are_always_asked_about(version: str, params: dict[str, Any]) -> None:
    sound = SoundParams()
    sound.require(MODERN, {"name": "t", "_meta": dict(META)})
    with pytest.raises(ValidationError):
        sound.require(version, params)
