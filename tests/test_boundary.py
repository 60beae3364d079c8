"""A boundary parses into its type, or logs one line without anything that was sent and raises again."""

import json
import logging
import re
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import mypy.api
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, field_validator

from handfast.boundary import broken_rule, parse_typed
from tests.core.schema.test_violation_texts import MARK, marked
from tests.core.words.test_model_errors import SHAPES
from tests.demo import ROOT


class Contact(BaseModel):
    model_config = ConfigDict(extra="forbid")

    email: str
    age: int = 0

    @field_validator("age")
    @classmethod
    def refuse_and_quote(cls, age: int) -> int:
        if age > 150:
            raise ValueError(f"nobody is {age}")
        return age


class Ping(BaseModel):
    action: Literal["ping"]


class Subscribe(BaseModel):
    action: Literal["subscribe"]
    channels: tuple[str, ...]


CONTROL: TypeAdapter[Ping | Subscribe] = TypeAdapter(Annotated[Ping | Subscribe, Field(discriminator="action")])


@pytest.mark.requirement("001-1")
def test_a_model_or_an_adapter_gives_its_own_type() -> None:
    assert parse_typed("contacts", {"email": "a@b"}, Contact) == Contact(email="a@b")
    assert parse_typed("ws.control", {"action": "ping"}, CONTROL) == Ping(action="ping")


TYPED = """
from pydantic import BaseModel, TypeAdapter
from handfast.boundary import parse_typed

class Contact(BaseModel):
    email: str

adapter: TypeAdapter[list[int] | str] = TypeAdapter(list[int] | str)

def read(raw: object) -> None:
    reveal_type(parse_typed("contacts", raw, Contact))
    reveal_type(parse_typed("numbers", raw, adapter))
    parse_typed("contacts", raw, int)
"""


@pytest.mark.requirement("001-1")
def test_each_overload_returns_the_type_it_was_given(tmp_path: Path) -> None:
    source = tmp_path / "reader.py"
    source.write_text(TYPED, "utf-8")
    cache = str(ROOT / ".mypy_cache")  # that of scripts/check: without one this takes half a minute
    limit = sys.getrecursionlimit()
    said, trouble, _ = mypy.api.run(["--strict", "--no-error-summary", "--cache-dir", cache, str(source)])
    sys.setrecursionlimit(limit)  # mypy raises it, and tests of what is nested too deeply may come next
    assert trouble == ""
    told = [line.split(":", 1)[1] for line in said.splitlines() if "note: Revealed" in line or " error: " in line]
    assert told[:2] == ['11: note: Revealed type is "reader.Contact"', '12: note: Revealed type is "list[int] | str"']
    assert [line.split(":")[0] for line in told[2:]] == ["13"]


LABELS = """
from pydantic import BaseModel
from handfast.boundary import broken_rule, parse_typed

class Contact(BaseModel):
    email: str

def read(raw: object, label: str) -> None:
    parse_typed("contacts", raw, Contact)
    parse_typed("contacts" + ".new", raw, Contact)
    parse_typed(label, raw, Contact)
    parse_typed(f"contacts.{label}", raw, Contact)
    broken_rule("must come before 'until'")
    broken_rule(label)
"""
PYREFLY = Path(sys.executable).parent / "pyrefly"  # mypy takes LiteralString for str


@pytest.mark.requirement("001-2")
def test_a_label_built_at_run_time_fails_the_type_check(tmp_path: Path) -> None:
    (tmp_path / "labels.py").write_text(LABELS, "utf-8")
    (tmp_path / "pyrefly.toml").write_text('preset = "strict"\n', "utf-8")
    command = [str(PYREFLY), "check", "--output-format", "min-text", "labels.py", "--search-path", str(ROOT / "src")]
    said = subprocess.run(
        [*command, "--python-interpreter-path", sys.executable], cwd=tmp_path, text=True, capture_output=True
    )
    assert re.findall(r"ERROR \S*labels.py:(\d+):", said.stdout + said.stderr) == ["11", "12", "14"]


def test_bytes_are_read_as_json_with_strict_numbers(caplog: pytest.LogCaptureFixture) -> None:
    assert parse_typed("contacts", b'{"email": "a", "age": 3}', Contact) == Contact(email="a", age=3)
    assert parse_typed("ws.control", b'{"action": "ping"}', CONTROL) == Ping(action="ping")
    with pytest.raises(ValidationError):
        parse_typed("contacts", b'{"email": "a", "age": "3"}', Contact)
    with pytest.raises(ValidationError):
        parse_typed("contacts", b"{s3cret", Contact)
    told = [vars(record)["description"] for record in caplog.records]
    assert told == ["age: must be an integer, not a string", "is not valid JSON"]


@pytest.mark.requirement("001-3")
def test_nothing_is_read_as_an_empty_object() -> None:
    class Filters(BaseModel):
        limit: int = 50

    assert parse_typed("filters", None, Filters) == Filters(limit=50)
    with pytest.raises(ValidationError) as caught:
        parse_typed("contacts", None, Contact)
    assert [(error["type"], error["loc"]) for error in caught.value.errors()] == [("missing", ("email",))]


@pytest.mark.requirement("001-4")
def test_a_failure_is_one_warning_with_its_fields_and_is_raised_again(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(ValidationError):
        parse_typed("contacts", {"email": 1, "age": "old", "s3cret\n": 2}, Contact)
    (record,) = caplog.records
    assert (record.name, record.levelno, record.exc_info) == ("handfast.boundary", logging.WARNING, None)
    description = (
        "email: must be a string, not an integer; age: must be an integer, not a string; "
        "has 1 property that is not allowed: 's3cret?'"
    )
    assert record.getMessage() == f"api.boundary.validation_failed: what came in at contacts was refused: {description}"
    expected = {
        "event": "api.boundary.validation_failed",
        "boundary": "contacts",
        "error_type": "ValidationError",
        "error_count": 3,
        "description": description,
        "locations": ["email", "age", "s3cret?"],
        "truncated": False,
    }
    assert {name: getattr(record, name) for name in expected} == expected


@pytest.mark.requirement("001-4")
def test_the_exception_that_is_raised_is_the_models_own() -> None:
    own = ValidationError.from_exception_data("Odd", [])

    class Odd(BaseModel):
        @classmethod
        def model_validate(cls, *_: Any, **__: Any) -> "Odd":  # Any: of the method that is replaced
            raise own

    with pytest.raises(ValidationError) as caught:
        parse_typed("odd", {}, Odd)
    assert caught.value is own


@pytest.mark.requirement("001-4")
def test_five_places_are_named_and_the_rest_is_said_to_be_cut(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(ValidationError):
        parse_typed("numbers", ["s3cret"] * 6, TypeAdapter(list[int]))
    (record,) = caplog.records
    fields = vars(record)
    assert (fields["locations"], fields["truncated"], fields["error_count"]) == (["0", "1", "2", "3", "4"], True, 6)


@pytest.mark.requirement("001-4")
def test_errors_without_number_are_counted_and_not_listed(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(ValidationError):
        parse_typed("numbers", ["s3cret"] * 10_001, TypeAdapter(list[int]))
    fields = vars(caplog.records[0])
    description = "has 10001 errors, too many to list; correct all of a kind"
    assert (fields["description"], fields["truncated"], fields["error_count"]) == (description, True, 10_001)


@pytest.mark.requirement("001-4")
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from([Contact, CONTROL, TypeAdapter(dict[str, Contact]), TypeAdapter(list[int | Contact])]), SHAPES)
def test_no_input_value_reaches_the_log(
    caplog: pytest.LogCaptureFixture, model: Any, value: object
) -> None:  # Any: both overloads
    sent = without_marked_names(marked(value))
    for raw in (sent, json.dumps(sent).encode()):
        caplog.clear()
        try:
            parse_typed("mcp.tool", raw, model)
        except ValidationError:
            (record,) = caplog.records
            everything = f"{vars(record)} {logging.Formatter().format(record)}"
            assert MARK not in everything
            assert "31415926" not in everything


def without_marked_names(value: Any) -> Any:  # Any: JSON values
    """Names may be shown; here only values carry the mark."""
    if isinstance(value, dict):
        return {name.replace(MARK, "x"): without_marked_names(inner) for name, inner in value.items()}
    return [without_marked_names(inner) for inner in value] if isinstance(value, list) else value


def test_an_author_tells_a_rule_of_his_own_in_a_literal(caplog: pytest.LogCaptureFixture) -> None:
    class Window(BaseModel):
        since: int

        @field_validator("since")
        @classmethod
        def refuse(cls, _: int) -> int:
            raise broken_rule("must come before 'until'")

    with pytest.raises(ValidationError):
        parse_typed("window", {"since": 31415926}, Window)
    assert vars(caplog.records[0])["description"] == "since: must come before 'until'"


@pytest.mark.requirement("S10")
@pytest.mark.requirement("D17")
@pytest.mark.parametrize(
    "secret", ["sk-abcdefghijklmnop", "ghp_abcdefghijklmnopqrstuv", "https://host/?token=hunter2x"]
)
def test_a_key_that_is_a_secret_is_not_logged(secret: str, caplog: pytest.LogCaptureFixture) -> None:
    class Inner(BaseModel):
        model_config = ConfigDict(extra="forbid")
        numbers: dict[str, int] = {}

    with caplog.at_level(logging.WARNING), pytest.raises(ValidationError):
        parse_typed("test.keys", {secret: 1, "numbers": {secret: "no number"}}, Inner)
    (line,) = caplog.records
    for text in (line.getMessage(), str(vars(line))):
        assert secret not in text
        assert "[redacted]" in text
