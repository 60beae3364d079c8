"""Arguments read one by one: of their type, or an error that names them; never a bare TypeError or ValueError."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from handfast.core.answers.errors import ErrorCode, ToolError
from handfast.core.call.guardrails import MISSING_ACTOR, MISSING_CONFIRM, MISSING_REASON
from handfast.core.call.policy import Violation
from handfast.toolkit.writing.actor import Actor
from handfast.toolkit.writing.argument_checks import (
    ArgumentValidationError,
    GuardrailViolationError,
    actor_id,
    actor_label,
    coerce_pagination,
    get_optional_str,
    parse_str_sequence,
    parse_time_window,
    require_actor_id,
    require_admin_guardrails,
    require_arg,
    require_dict,
    require_non_blank,
)
from tests.core.schema.test_compiled import json_values

pytestmark = pytest.mark.requirement("003-6")


def refused(read: Callable[..., object], *given: object, **more: object) -> str:
    with pytest.raises(ArgumentValidationError) as caught:
        read(*given, **more)
    assert isinstance(caught.value, ToolError)
    assert (caught.value.code, caught.value.message) == (ErrorCode.INVALID_INPUT, str(caught.value))
    assert caught.value.details == {"kind": "shape"}
    return str(caught.value)


def test_the_error_reads_as_documented() -> None:
    error = ArgumentValidationError("due", "date")
    assert str(error) == "Argument 'due' missing or not a date"
    assert (error.name, error.expected) == ("due", "date")


@pytest.mark.parametrize(
    ("ty", "value", "read"),
    [
        (str, "", ""),
        (int, 3, 3),
        (int, 3.0, 3),
        (float, 1.5, 1.5),
        (float, 2, 2.0),
        (bool, False, False),
        (list, [], []),
        (dict, {}, {}),
    ],
)
def test_an_argument_of_its_type_is_returned(ty: type, value: object, read: object) -> None:
    found: object = require_arg({"x": value}, "x", ty)
    assert found == read
    assert type(found) is ty


@pytest.mark.parametrize(
    ("ty", "expected", "values"),
    [
        (str, "string", [None, 1, True, [], {}]),
        (int, "whole number", [None, "1", True, False, 1.5, float("nan"), float("inf"), []]),
        (float, "number", [None, "1.5", True, 10**400, []]),
        (bool, "boolean", [None, 0, 1, "true"]),
        (dict, "JSON object", [None, [], "{}"]),
        (list, "JSON array", [None, {}, "[]", "abc"]),
        (bytes, "bytes", ["abc"]),
    ],
)
def test_an_argument_of_another_type_is_refused(ty: type, expected: str, values: list[object]) -> None:
    for value in values:
        assert refused(require_arg, {"x": value}, "x", ty) == f"Argument 'x' missing or not a {expected}"
    assert refused(require_arg, {}, "x", ty) == f"Argument 'x' missing or not a {expected}"


def test_text_must_be_readable() -> None:
    assert require_non_blank({"x": " a "}, "x") == " a "
    assert get_optional_str({"x": "a"}, "x") == "a"
    assert get_optional_str({}, "x") is None
    assert get_optional_str({"x": None}, "x") is None
    blank = "Argument 'x' missing or not a non-blank string"
    assert refused(require_non_blank, {}, "x") == blank
    assert refused(require_non_blank, {"x": " \n\u200b"}, "x") == blank
    assert refused(get_optional_str, {"x": " "}, "x") == blank
    assert refused(get_optional_str, {"x": 1}, "x") == blank


def test_a_dict_is_a_copy_unless_that_is_switched_off() -> None:
    sent: dict[str, Any] = {"x": {"a": {"b": 1}}}
    copied = require_dict(sent, "x")
    copied["a"]["b"] = 2
    assert sent == {"x": {"a": {"b": 1}}}
    assert require_dict(sent, "x", deep_copy=False) is sent["x"]


def test_a_dict_may_have_to_hold_one_type() -> None:
    assert require_dict({"x": {"a": "b"}}, "x", value_type=str) == {"a": "b"}
    assert require_dict({"x": {}}, "x", value_type=int) == {}
    expected = "Argument 'x' missing or not a JSON object of whole numbers"
    wrongs: tuple[object, ...] = ({"a": "1"}, {"a": True}, {"a": None}, {"a": 1, "b": 1.5}, [])
    for wrong in wrongs:
        assert refused(require_dict, {"x": wrong}, "x", value_type=int) == expected
    assert refused(require_dict, {"x": {1: "a"}}, "x") == "Argument 'x' missing or not a JSON object"
    assert refused(require_dict, {"x": {"a": threading.Lock()}}, "x") == "Argument 'x' missing or not a JSON object"


@pytest.mark.parametrize(
    "text", ["2026-03-01T09:30:00Z", "2026-03-01T09:30:00+00:00", "20260301T093000Z", "2026-03-01 09:30z"]
)
def test_a_moment_is_read_in_the_forms_of_iso_8601(text: str) -> None:
    window = parse_time_window({"since": text, "until": "2026-03-01T10:30:00+00:00"})
    assert window == (datetime(2026, 3, 1, 9, 30, tzinfo=UTC), datetime(2026, 3, 1, 10, 30, tzinfo=UTC))


AWARE = st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=14)), timezone(timedelta(hours=-12))]))


@given(AWARE, AWARE)
def test_a_window_opens_before_it_closes(since: datetime, until: datetime) -> None:
    arguments = {"since": since.isoformat(), "until": until.isoformat()}
    if since < until:
        assert parse_time_window(arguments) == (since, until)
        assert parse_time_window({"since": since.isoformat()}, until_required=False) == (since, None)
    else:
        assert refused(parse_time_window, arguments) == "Argument 'until' missing or not a moment after 'since'"


@pytest.mark.parametrize(
    "text",
    [
        "2026-03-01T09:30:00",
        "2026-03-01",
        "2026-03-01x09:30:00Z",
        "2026-13-01T09:30:00Z",
        "soon",
        "",
        "\u0662\u0660\u0662\u0666-03-01T09:30:00Z",
        None,
        5,
        True,
        [],
    ],
)
def test_what_is_no_moment_with_a_time_zone_is_refused(text: object) -> None:
    expected = "missing or not a date and time with a time zone, such as 2026-03-01T09:30:00Z"
    good = "2026-03-01T09:30:00Z"
    assert refused(parse_time_window, {"since": text, "until": good}) == f"Argument 'since' {expected}"
    assert refused(parse_time_window, {"since": good, "until": text}) == f"Argument 'until' {expected}"


def test_the_end_of_a_window_may_be_left_out_only_where_that_is_said() -> None:
    since = {"since": "2026-03-01T09:30:00Z"}
    assert parse_time_window(since, until_required=False)[1] is None
    assert parse_time_window(since | {"until": None}, until_required=False)[1] is None
    assert "'until'" in refused(parse_time_window, since)


def test_a_sequence_holds_readable_strings() -> None:
    assert parse_str_sequence({"x": ["a", "b"]}, "x") == ("a", "b")
    assert parse_str_sequence({}, "x") == parse_str_sequence({"x": None}, "x") == ()
    expected = "Argument 'x' missing or not a JSON array of non-blank strings"
    for wrong in ("abc", ["a", " "], ["a", 1], {"a": 1}, 7):
        assert refused(parse_str_sequence, {"x": wrong}, "x") == expected


def test_a_page_has_its_defaults_and_its_bounds() -> None:
    assert coerce_pagination({}) == (0, 50)
    assert coerce_pagination({}, default_limit=20) == (0, 20)
    assert coerce_pagination({}, default_limit=5_000) == (0, 500)
    assert coerce_pagination({"offset": None, "limit": None}) == (0, 50)
    assert coerce_pagination({"offset": 7, "limit": 500.0}) == (7, 500)
    offsets: tuple[object, ...] = (-1, True, "7", 1.5, [])
    for offset in offsets:
        assert (
            refused(coerce_pagination, {"offset": offset})
            == "Argument 'offset' missing or not a whole number of 0 or more"
        )
    for limit in (0, 501, True, "7", 1.5, -1):
        assert (
            refused(coerce_pagination, {"limit": limit})
            == "Argument 'limit' missing or not a whole number from 1 to 500"
        )


@pytest.mark.requirement("003-6")
@pytest.mark.parametrize("arguments", [None, "text", 5, ["a"], True])
@pytest.mark.parametrize(
    "helper",
    [
        lambda given: require_arg(given, "a", str),
        lambda given: require_non_blank(given, "a"),
        lambda given: get_optional_str(given, "a"),
        lambda given: require_dict(given, "a"),
        lambda given: parse_time_window(given, until_required=False),
        lambda given: parse_str_sequence(given, "a"),
        lambda given: coerce_pagination(given),
    ],
)
def test_arguments_that_are_no_object_are_refused_as_that(helper: Callable[[Any], object], arguments: object) -> None:
    with pytest.raises(ArgumentValidationError, match="Argument 'arguments' missing or not a JSON object"):
        helper(arguments)


def test_an_actor_is_asked_for_in_three_ways() -> None:
    known, named, nobody = Actor(id="u1", name="Ada"), Actor(name="Ada"), None
    assert (actor_id(known), actor_id(named), actor_id(nobody)) == ("u1", None, None)
    assert (actor_label(known), actor_label(SimpleNamespace(id=7)), actor_label(nobody)) == (
        "Ada",
        "7",
        "mcp-anonymous",
    )
    assert require_actor_id(known) == "u1"
    expected = "Argument 'actor' missing or not a caller who is signed in with an id"
    assert refused(require_actor_id, named) == refused(require_actor_id, nobody) == expected


ODD = st.sampled_from(
    [object(), threading.Lock(), float("nan"), float("inf"), 10**400, b"x", {1, 2}, (), range(3), "\ud800", iter(())]
)
NESTED = st.recursive(
    json_values | ODD,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=3),
)
READERS: dict[str, Callable[[dict[str, Any]], object]] = {
    **{f"a {ty.__name__}": partial(require_arg, key="x", ty=ty) for ty in (str, int, float, bool, dict, list)},
    "a text": partial(require_non_blank, key="x"),
    "an optional text": partial(get_optional_str, key="x"),
    "an object": partial(require_dict, key="x"),
    "an object of numbers": partial(require_dict, key="x", value_type=float),
    "an object of strings": partial(require_dict, key="x", value_type=str, deep_copy=False),
    "a sequence": partial(parse_str_sequence, key="x"),
    "a window": lambda arguments: parse_time_window({"since": arguments.get("x"), "until": arguments.get("y")}),
    "an open window": lambda arguments: parse_time_window({"since": arguments.get("x")}, until_required=False),
    "a page": lambda arguments: coerce_pagination({"offset": arguments.get("x"), "limit": arguments.get("y")}),
}
DATES = st.from_regex(r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(Z|[+-][0-9]{2}:[0-9]{2})\Z")


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
@given(st.fixed_dictionaries({}, optional={"x": NESTED | DATES, "y": NESTED | DATES}))
@example({"x": "0001-01-01T00:00:00+23:59", "y": "9999-12-31T23:59:59-23:59"})
@example({"x": "9999-12-31T23:59:59-23:59", "y": "0001-01-01T00:00:00+23:59"})
def test_whatever_is_in_the_arguments_only_our_error_is_raised(
    reader: Callable[[dict[str, Any]], object], arguments: dict[str, Any]
) -> None:
    try:
        reader(arguments)
    except ArgumentValidationError as error:
        assert error.message.startswith("Argument '")  # noqa: PT017  # it may raise or not


@pytest.mark.parametrize("arguments", [None, "text", ["confirm"]])
def test_arguments_that_are_no_object_confirm_nothing(arguments: Any) -> None:
    with pytest.raises(GuardrailViolationError) as caught:
        require_admin_guardrails(arguments, Actor(id="u1", name="Ada"))
    assert caught.value.violation == "missing_confirm"


GIVEN = {"confirm": True, "reason": "asked for by the owner"}


@pytest.mark.requirement("003-9")
@pytest.mark.parametrize("actor", [Actor(id="u1"), Actor(name="Ada"), SimpleNamespace(id=7)])
def test_a_call_with_all_three_passes(actor: object) -> None:
    require_admin_guardrails(GIVEN, actor)


@pytest.mark.requirement("003-9")
@pytest.mark.parametrize(
    ("arguments", "actor", "violation", "text"),
    [
        (GIVEN, None, "missing_actor", MISSING_ACTOR),
        (GIVEN | {"actor": "ada", "actor_id": "u1"}, Actor(), "missing_actor", MISSING_ACTOR),
        (GIVEN | {"confirm": "true"}, Actor(id="u1"), "missing_confirm", MISSING_CONFIRM),
        (GIVEN | {"reason": " "}, Actor(id="u1"), "missing_reason", MISSING_REASON),
    ],
)
def test_what_is_missing_is_raised_by_name(
    arguments: dict[str, object], actor: object, violation: str, text: Violation
) -> None:
    with pytest.raises(GuardrailViolationError) as caught:
        require_admin_guardrails(arguments, actor)
    refused = caught.value
    assert isinstance(refused, ToolError)
    assert (refused.violation, refused.details) == (violation, {"violation": violation})
    assert refused.code == ErrorCode.GUARDRAIL_VIOLATED
    assert str(refused) == refused.message == text.message
