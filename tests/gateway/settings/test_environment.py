"""HANDFAST_* variables and flags."""

import pytest

from handfast.core.call.policy import InputErrors, InputPolicy, UnknownArguments
from handfast.core.call.recording import Durability
from handfast.gateway.settings import Settings, SettingsError, load_settings
from handfast.gateway.settings.blocks import Activity, Limits
from handfast.gateway.settings.environment import OTHERS, VARIABLES
from handfast.gateway.settings.keys import GLOBAL_KEYS


def problems(environ: dict[str, str], flags: dict[str, object] | None = None) -> tuple[str, ...]:
    with pytest.raises(SettingsError) as refused:
        load_settings(None, environ=environ, flags=flags or {})
    return refused.value.problems


def test_variables_set_any_global_key() -> None:
    environ = {
        "HANDFAST_INPUT_VALIDATION_UNKNOWN_ARGUMENTS": "reject_all",
        "HANDFAST_INPUT_VALIDATION_ERRORS": "protocol",
        "HANDFAST_INPUT_VALIDATION_IGNORE": "page, per_page,",
        "HANDFAST_INPUT_VALIDATION_LENIENT_SCALARS": "true",
        "HANDFAST_ACTIVITY_DURABILITY": "all",
        "HANDFAST_ACTIVITY_KEEP_DAYS": "30",
        "HANDFAST_ACTIVITY_KEEP_BYTES": "null",
        "HANDFAST_LIMITS_CALL_TIMEOUT_S": "2.5",
        "HANDFAST_LISTEN": "[::1]:80",
        "HANDFAST_ALLOWED_HOSTS": "a.example,b.example:81",
        "HANDFAST_ALLOWED_ORIGINS": "",
        "PATH": "/bin",
    }

    assert load_settings(None, environ=environ) == Settings(
        input_validation=InputPolicy(
            unknown_arguments=UnknownArguments.REJECT_ALL,
            errors=InputErrors.PROTOCOL,
            ignore=frozenset({"page", "per_page"}),
            lenient_scalars=True,
        ),
        activity=Activity(durability=Durability.ALL, keep_days=30, keep_bytes=None),
        limits=Limits(call_timeout_s=2.5),
        listen="[::1]:80",
        allowed_hosts=("a.example", "b.example:81"),
    )


def test_every_global_key_has_a_variable_of_its_own() -> None:
    assert len(VARIABLES) == len(GLOBAL_KEYS)
    assert not VARIABLES.keys() & OTHERS


@pytest.mark.requirement("004-4")
@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        (
            "HANDFAST_OUTPUT_VALIDATION_MODE",
            "Strict",
            'must be one of off, warn, strict; got "Strict"; did you mean "strict"?',
        ),
        ("HANDFAST_OUTPUT_VALIDATION_MODE", "", 'must be one of off, warn, strict; got ""'),
        ("HANDFAST_OUTPUT_VALIDATION_MAX_DEPTH", "", "must be a whole number from 1 to 500"),
        ("HANDFAST_OUTPUT_VALIDATION_MAX_DEPTH", "64kb", "must be a whole number from 1 to 500"),
        ("HANDFAST_LIMITS_LEARN_TIMEOUT_S", "nan", "must be a number above 0, at most 86400"),
        ("HANDFAST_OUTPUT_VALIDATION_GUARDS_WITHOUT_SCHEMA", "perhaps", "must be true or false"),
        ("HANDFAST_LISTEN", "127.0.0.1:80\n", "must not hold line breaks or other control characters"),
    ],
)
def test_a_wrong_value_is_refused_with_the_variables_name(variable: str, value: str, said: str) -> None:
    assert problems({variable: value}) == (f"{variable} {said}",)


def test_a_variable_close_to_one_of_ours_is_an_error() -> None:
    assert problems({"HANDFAST_OUTPUT_VALIDATION_MOD": "strict", "HANDFAST_LISTN": "x"}) == (
        "HANDFAST_LISTN is not a setting; did you mean HANDFAST_LISTEN?",
        "HANDFAST_OUTPUT_VALIDATION_MOD is not a setting; did you mean HANDFAST_OUTPUT_VALIDATION_MODE?",
    )


def test_variables_that_others_read_are_left_alone() -> None:
    environ = dict.fromkeys([*OTHERS, "HANDFAST_TOKEN", "HANDFAST_DEBUG", "HANDFAST_"], "x")

    assert load_settings(None, environ=environ) == Settings()


def test_wrong_flags_are_refused_by_their_key() -> None:
    flags: dict[str, object] = {
        "output_validation.mod": "strict",
        "limits.sessions": "x",
        "what\n": "1",
        "listen": None,
    }

    assert problems({}, flags) == (
        'flag "output_validation.mod" is not a setting; did you mean "output_validation.mode"?',
        'flag "what\\n" is not a setting; handfast config show lists them all',
        "flag limits.sessions must be a whole number from 1 to 10000",
    )
