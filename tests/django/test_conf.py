"""Settings: defaults, what is read, and what is refused in one line."""

from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import override_settings

from handfast.core.call.policy import InputErrors, UnknownArguments
from handfast.django.conf import AdapterSettings, read_settings


def test_nothing_said_is_the_defaults() -> None:
    assert read_settings() == AdapterSettings()
    assert read_settings() is read_settings()


@pytest.mark.requirement("000-13")
def test_refused_arguments_are_errors_of_the_protocol_unless_somebody_says_otherwise() -> None:
    assert read_settings().errors is InputErrors.PROTOCOL
    assert read_settings().unknown_arguments is UnknownArguments.REJECT_OBJECTS


def test_everything_can_be_said() -> None:
    said: dict[str, Any] = {
        "NAME": "crm-1",
        "VERSION": "3",
        "INSTRUCTIONS": "Be kind.",
        "INCLUDE": ["contacts__*"],
        "EXCLUDE": ("*__destroy",),
        "ERRORS": "result",
        "UNKNOWN_ARGUMENTS": "reject_all",
        "DISPATCHERS": {"crm": ["contacts__*"]},
        "HIDE_DISPATCHED": True,
        "LEAN_WRITES": "always",
        "PIECE_BYTES": 1000,
        "MAX_BODY_BYTES": 2048,
        "ALLOWED_ORIGINS": ["https://example.com"],
        "ACTIVITY": "off",
    }
    with override_settings(HANDFAST=said):
        read = read_settings()
    assert {field.upper() for field in AdapterSettings.__dataclass_fields__} == said.keys()
    assert (read.name, read.include, read.exclude) == ("crm-1", ("contacts__*",), ("*__destroy",))
    assert read.dispatchers == {"crm": ("contacts__*",)}
    assert read.unknown_arguments is UnknownArguments.REJECT_ALL
    assert read_settings() == AdapterSettings()


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ([], "settings.HANDFAST must be a dict."),
        ({"EXLUDE": []}, "HANDFAST has no setting 'EXLUDE'. There are ACTIVITY, "),
        ({"NAME": ""}, "HANDFAST['NAME'] must be a name"),
        ({"NAME": "a b"}, "HANDFAST['NAME'] must be a name"),
        ({"INCLUDE": "contacts__*"}, "HANDFAST['INCLUDE'] must be a list of patterns"),
        ({"EXCLUDE": [1]}, "HANDFAST['EXCLUDE'] must be a list of patterns"),
        ({"ERRORS": "loud"}, "HANDFAST['ERRORS'] must be 'protocol' or 'result'."),
        ({"UNKNOWN_ARGUMENTS": "schema"}, "HANDFAST['UNKNOWN_ARGUMENTS'] must be 'reject_objects' or 'reject_all'."),
        ({"DISPATCHERS": True}, "HANDFAST['DISPATCHERS'] must be False, 'resources', or a dict"),
        ({"DISPATCHERS": {"a": "b"}}, "HANDFAST['DISPATCHERS'] must be"),
        ({"HIDE_DISPATCHED": 1}, "HANDFAST['HIDE_DISPATCHED'] must be True or False."),
        ({"LEAN_WRITES": True}, "HANDFAST['LEAN_WRITES'] must be 'large', 'always' or 'never'."),
        ({"PIECE_BYTES": 1}, "HANDFAST['PIECE_BYTES'] must be a number of bytes, 256 or more."),
        ({"MAX_BODY_BYTES": True}, "HANDFAST['MAX_BODY_BYTES'] must be a number of bytes"),
        ({"ALLOWED_ORIGINS": "https://a"}, "HANDFAST['ALLOWED_ORIGINS'] must be a list of origins"),
    ],
)
def test_what_makes_no_sense_is_refused_with_what_to_write(said: object, words: str) -> None:
    with override_settings(HANDFAST=said), pytest.raises(ImproperlyConfigured) as refusal:
        read_settings()
    assert str(refusal.value).startswith(words)
    assert "\n" not in str(refusal.value)
