"""`handfast call`: one call through the running gateway, or through one of its own."""

import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.cli.call import fit_to_schema, read_arguments
from handfast.cli.shared.console import CommandFailed
from tests.cli.conftest import DemoGateway, Ran
from tests.gateway.running import eventually, read_records

pytestmark = pytest.mark.quick

Run = Callable[..., Ran]
ADA = {"email": "ada@example.com", "first_name": "Ada"}
REFUSED = (
    "Argument 'data' is not a declared field and its value is a nested object.\n"
    "Likely cause: REST-style wrapper — send fields flat at the top level.\n"
    'Unwrap \'data\': send "email", "first_name" directly, not inside "data".\n'
    'Declared fields: ["email", "first_name", "notes"].\n'
)


def calls(state: Path) -> list[str]:
    return [record.tool for record in read_records(state, type="tool_call")] if state.exists() else []


def test_a_call_goes_through_the_running_gateway(handfast: Run, demo: DemoGateway, tmp_path: Path) -> None:
    before = len(calls(demo.state))
    ran = handfast("call", "contacts", "list_contacts", "--url", demo.url)
    assert (ran.code, ran.err) == (0, "")
    assert set(json.loads(ran.out)) == {"contacts"}
    eventually(lambda: calls(demo.state)[before:] == ["list_contacts"], "the call on the gateway's record")
    assert not (tmp_path / "state").exists()


def test_the_gateway_is_found_by_the_settings_and_by_the_environment(
    handfast: Run, demo: DemoGateway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HANDFAST_URL", f"{demo.url}/")
    assert handfast("call", "contacts", "list_contacts").code == 0
    monkeypatch.delenv("HANDFAST_URL")
    # Its server cannot be started: what answers is the gateway that listens at this address.
    own = {"listen": demo.url.removeprefix("http://"), "mcpServers": {"contacts": {"command": "no-such-command"}}}
    (tmp_path / "handfast.json").write_text(json.dumps(own))
    assert handfast("call", "contacts", "list_contacts").code == 0
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("words", [[], ["email=ada@example.com", "first_name=Ada"]])
def test_a_tool_is_called_by_its_name_at_the_combined_endpoint(
    handfast: Run, demo: DemoGateway, words: list[str]
) -> None:
    tool, keys = ("create_contact", {"created", "id"}) if words else ("list_contacts", {"contacts"})
    # Flags may stand before and after what a tool is given.
    for given_words in ([*words, "--url", demo.url], ["--url", demo.url, *words]):
        ran = handfast("call", f"contacts__{tool}", *given_words)
        assert (ran.code, set(json.loads(ran.out))) == (0, keys)


def test_the_server_of_a_combined_name_is_the_only_one_that_is_asked(handfast: Run, demo: DemoGateway) -> None:
    wrong = handfast("call", "contacts__lst_contacts", "--url", demo.url)
    near = "contacts__list_contacts or contacts__create_contact"
    about = f"There is no tool of this name. Did you mean {near}? tools/list shows all."
    assert wrong == Ran(1, "", f"handfast: {about}\n")
    unknown = handfast("call", "nope__x", "--url", demo.url)
    about = "Not every server that was asked for is here. Servers: broken, contacts, gone."
    assert unknown == Ran(1, "", f"handfast: {about}\n")


@pytest.mark.usefixtures("settings_file")
def test_without_a_gateway_the_call_runs_through_one_of_its_own(handfast: Run, tmp_path: Path) -> None:
    assert handfast("call", "contacts", "create_contact", "email=ada@example.com", "first_name=Ada").code == 0
    ran = handfast("call", "contacts", "list_contacts")
    assert json.loads(ran.out) == {"contacts": [{"id": 1, **ADA, "notes": ""}]}
    assert calls(tmp_path / "state") == ["create_contact", "list_contacts"]


@pytest.mark.parametrize(
    "words",
    [
        ['{"email": "ada@example.com", "first_name": "Ada"}'],
        ["email=ada@example.com", 'first_name="Ada"'],
    ],
)
def test_arguments_are_json_or_pairs(handfast: Run, demo: DemoGateway, words: list[str]) -> None:
    # Flags may stand before, between and after the pairs.
    for given_words in (
        [*words, "--url", demo.url],
        ["--url", demo.url, *words],
        [words[0], "--url", demo.url, *words[1:]],
    ):
        created = json.loads(handfast("call", "contacts", "create_contact", *given_words).out)
        listed = json.loads(handfast("call", "contacts", "list_contacts", "--url", demo.url).out)
        assert listed["contacts"][-1] == {"id": created["id"], **ADA, "notes": ""}


def test_json_output_is_the_whole_result(handfast: Run, demo: DemoGateway) -> None:
    ran = handfast("call", "contacts", "contact_stats", "-o", "json", "--url", demo.url)
    result = json.loads(ran.out)
    assert (ran.code, set(result)) == (0, {"content", "structuredContent"})


@pytest.mark.requirement("000-13")
def test_a_refused_call_says_why_and_ends_with_1(handfast: Run, demo: DemoGateway) -> None:
    words = ("call", "contacts", "create_contact", json.dumps({"data": ADA}), "--url", demo.url)
    assert handfast(*words) == Ran(1, REFUSED, "The call failed:\n")
    ran = handfast(*words, "-o", "json")
    facts = [{"pointer": "/data", "rule": "wrapper"}]
    content = [{"type": "text", "text": REFUSED.rstrip("\n")}]
    expected = {"content": content, "isError": True, "_meta": {"handfast/violations": facts}}
    assert (ran.code, json.loads(ran.out), ran.err) == (1, expected, "")


@pytest.mark.parametrize(
    ("server", "tool", "about"),
    [
        ("contacts", "nope", "No such tool, or arguments that are no object. Look at tools/list."),
        ("nope", "x", "There is no server of this name. Servers: broken, contacts, gone."),
        ("off", "x", "There is no server of this name. Servers: broken, contacts, gone."),
        ("broken", "x", "The server cannot start 'no-such-command': no such command. Check the command and the PATH."),
        (
            "gone",
            "x",
            "http://127.0.0.1:1 refused the connection. Check that the server runs and listens on this port.",
        ),
    ],
)
def test_what_cannot_be_called_is_one_line(
    handfast: Run, demo: DemoGateway, server: str, tool: str, about: str
) -> None:
    assert handfast("call", server, tool, "--url", demo.url) == Ran(1, "", f"handfast: {about}\n")


@pytest.mark.parametrize(
    ("words", "code", "about"),
    [
        (["--url", "http://127.0.0.1:1"], 1, "http://127.0.0.1:1 refused the connection."),
        (["--url", "ftp://example.com"], 2, "The url is not an http or https address."),
        (["--config", "missing.json"], 1, "missing.json: does not exist"),
        ([], 1, "no gateway is running and there is no settings file."),
        (["word"], 2, "'word' is neither name=value nor a JSON object"),
        (["=1"], 2, "'=1' is neither name=value nor a JSON object"),
        (["[1]"], 2, "'[1]' is neither name=value nor a JSON object"),
        (["{bad"], 2, "the arguments are not valid JSON."),
        (['{"a": NaN}'], 2, "the arguments are not valid JSON."),
        (["a=1", "a=2"], 2, "'a' is given twice."),
        (["a=\udcff"], 2, "the arguments are not UTF-8."),
    ],
)
def test_a_call_that_cannot_be_made_is_one_line(handfast: Run, words: list[str], code: int, about: str) -> None:
    ran = handfast("call", "contacts", "x", *words)
    assert (ran.code, ran.out, ran.err.count("\n")) == (code, "", 1)
    assert ran.err.startswith(f"handfast: {about}")


def test_what_is_typed_is_what_is_sent(handfast: Run, demo: DemoGateway) -> None:
    """A decoder in between would keep the last of two keys, and the gateway would never see that there were two."""
    ran = handfast("call", "contacts", "create_contact", '{"email": "a", "email": "b"}', "--url", demo.url)
    text = "The arguments are ambiguous: an object has the same key twice. Send plain JSON and call again.\n"
    assert ran == Ran(1, text, "The call failed:\n")


@given(st.text(st.characters(codec="utf-8")))
def test_a_value_is_json_where_it_can_be_and_text_where_it_cannot(text: str) -> None:
    value = read_arguments([f"name={text}"])["name"]
    if isinstance(value, msgspec.Raw):
        assert bytes(value).decode() == text
        json.loads(text)
    else:
        assert value == text


def test_a_value_that_reads_as_json_is_text_where_the_tool_declares_text(handfast: Run, demo: DemoGateway) -> None:
    words = ("email=5", "first_name=true", "--url", demo.url)
    created = json.loads(handfast("call", "contacts", "create_contact", *words).out)
    listed = json.loads(handfast("call", "contacts", "list_contacts", "--url", demo.url).out)
    assert listed["contacts"][-1] == {"id": created["id"], "email": "5", "first_name": "true", "notes": ""}
    assert handfast("call", "contacts__create_contact", *words).code == 0


TEXT = {"type": "string"}
MAYBE_TEXT = {"anyOf": [TEXT, {"type": "null"}]}


@pytest.mark.parametrize(
    ("declared", "typed", "sent"),
    [
        (TEXT, "5", '"5"'),
        (TEXT, "null", '"null"'),
        (TEXT, '"5"', '"5"'),
        (TEXT, "[5]", "[5]"),
        (MAYBE_TEXT, "1.50", '"1.50"'),
        (MAYBE_TEXT, "null", "null"),
        ({"type": ["string", "null"]}, "true", '"true"'),
        ({"type": ["string", "integer"]}, "5", "5"),
        ({"type": "integer"}, "5", "5"),
        ({"anyOf": [TEXT, True]}, "5", "5"),
        ({"anyOf": [TEXT, {"type": "number"}]}, "5", "5"),
        (True, "5", "5"),
        (None, "5", "5"),
    ],
)
def test_what_a_pair_is_sent_as(declared: object, typed: str, sent: str) -> None:
    pairs = read_arguments([f"value={typed}"])
    fitted = fit_to_schema(pairs, {"properties": {"value": declared}})
    assert msgspec.json.encode(fitted) == f'{{"value":{sent}}}'.encode()


@pytest.mark.parametrize("schema", [None, True, {}, {"properties": []}])
def test_without_a_schema_a_pair_is_sent_as_it_reads(schema: object) -> None:
    assert msgspec.json.encode(fit_to_schema(read_arguments(["value=5"]), schema)) == b'{"value":5}'


@pytest.mark.parametrize("number", ["1e400", "9007199254740993", "1.0", "-0"])
def test_numbers_keep_their_spelling(number: str) -> None:
    assert msgspec.json.encode(read_arguments([f"n={number}"])) == f'{{"n":{number}}}'.encode()


def test_a_problem_of_the_arguments_is_wrong_usage() -> None:
    with pytest.raises(CommandFailed) as caught:
        read_arguments(["{"])
    assert caught.value.code == 2
