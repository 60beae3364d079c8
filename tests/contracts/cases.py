"""Cases that run through every kind of gateway: one call or more to a tool of its own, told apart by the tool's name.

WHOLE = case("whole", CONTACT, calls=['{"data": {"email": "a"}}'])

def test_a_wrapped_payload_is_refused(seen: Seen) -> None:
    assert seen[WHOLE].answer.text == ...

All cases of a run go through one gateway before the first test looks: the records are read once.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tests.contracts.rig import MODERN_META, Answer, Gateway, Json, Route, rig
from tests.stubs.run import Entry, answer, tool, write_stub

CREATED = '{"content":[{"type":"text","text":"created"}]}'


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One tool: what it declares, what policy it is under, what it is sent and what it answers."""

    tool: str
    input_schema: Json
    output_schema: Json
    calls: tuple[bytes | None, ...]  # the exact text of the arguments; None: no such member
    answer: Mapping[str, object]
    policy: Mapping[str, Json] = field(default_factory=dict)
    is_listed: bool = True


_registered: dict[str, Case] = {}


def case(
    name: str,
    input_schema: Json = None,
    output_schema: Json = None,
    *,
    calls: Iterable[str | bytes | None] = ("{}",),
    result: str | bytes = CREATED,
    scripted: Mapping[str, object] | None = None,
    is_listed: bool = True,
    **policy: Json,
) -> Case:
    """Register a case; `policy` are keys of the validation blocks, prefixed with the block where both have one."""
    assert name not in _registered, f"{name} is taken"
    overrides: dict[str, Json] = {}
    for key, value in policy.items():
        block = "input_validation" if key in _INPUT_KEYS else "output_validation"
        overrides.setdefault(block, {})[key.removeprefix("input_").removeprefix("output_")] = value
    sent = tuple(text.encode() if isinstance(text, str) else text for text in calls)
    replied = answer(result) if scripted is None else scripted
    made = Case(name, input_schema, output_schema, sent, replied, overrides, is_listed)
    _registered[name] = made
    return made


def registered() -> list[Case]:
    """Every case of the common run whose module was imported."""
    return list(_registered.values())


def unregister(*cases: Case) -> list[Case]:
    """Keep cases out of the common run, for a run of their own."""
    return [_registered.pop(each.tool) for each in cases]


_INPUT_KEYS = frozenset(
    {
        "input_mode",
        "unknown_arguments",
        "ignore",
        "errors",
        "lenient_scalars",
        "input_formats",
        "unknown_tools",
        "input_uncompilable_schema",
    }
)


class Sent(NamedTuple):
    message: bytes
    answer: Answer


@dataclass(slots=True)
class Outcome:
    """Everything that can be known afterwards about one case."""

    case: Case
    route: Route
    is_modern: bool
    sent: list[Sent]
    reached: list[Entry]
    records: list[Json]  # in the order they were written

    @property
    def answer(self) -> Answer:
        (only,) = self.sent
        return only.answer

    @property
    def decisions(self) -> list[Json]:
        return [record for record in self.records if record["type"] == "policy_decision"]

    @property
    def decision(self) -> Json:
        (only,) = self.decisions
        return only

    @property
    def call(self) -> Json:
        """The one tool_call record."""
        (only,) = [record for record in self.records if record["type"] == "tool_call"]
        return only

    def passed(self) -> bool:
        """The tool was reached with the very bytes that were sent, and its answer came back byte for byte."""
        arrived = [entry.bytes.rstrip(b"\r\n") for entry in self.reached]
        wanted = [sent.message for sent in self.sent]
        if self.route != "wrap":  # many clients: the id is handfast's own there
            arrived, wanted = [_without_id(text) for text in arrived], [_without_id(text) for text in wanted]
        assert arrived == wanted
        assert [sent.answer.raw for sent in self.sent] == [reply_of(sent.message, self.case) for sent in self.sent]
        return True

    def refused(self, text: str) -> bool:
        """The tool was never reached, and the agent reads this."""
        assert self.reached == []
        message = self.answer.message
        result = dict(message["result"])
        assert set(result.pop("_meta", {})) <= {"handfast/violations"}
        assert {**message, "result": result} == {
            "jsonrpc": "2.0",
            "id": _id(self.sent[0].message),
            "result": self.error(text),
        }
        return True

    def error(self, text: str) -> Json:
        """What the result looks like when it is handfast that says no."""
        plain = {"content": [{"type": "text", "text": text}], "isError": True}
        return {"resultType": "complete", **plain} if self.is_modern else plain


def reply_of(message: bytes, of: Case) -> bytes:
    """What the stub answers to this message."""
    body = of.answer["result"]
    assert isinstance(body, str)
    return b'{"jsonrpc":"2.0","id":%d,"result":%s}' % (_id(message), body.encode())


def _id(message: bytes) -> int:
    return int(message.partition(b'"id":')[2].partition(b",")[0])


def _without_id(message: bytes) -> bytes:
    head, _, tail = message.partition(b'"id":')
    return head + tail.partition(b",")[2]


def call_message(number: int, name: str, arguments: bytes | None, *, is_modern: bool) -> bytes:
    """A tools/call, its arguments to the byte."""
    given = b"" if arguments is None else b',"arguments":' + arguments
    meta = b',"_meta":' + json.dumps(MODERN_META).encode() if is_modern else b""
    head = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%s' % (number, json.dumps(name).encode())
    return head + given + meta + b"}}"


class Seen:
    """The outcomes of one run."""

    def __init__(self, outcomes: Mapping[str, Outcome], records: list[Json], received: list[Entry]) -> None:
        self._outcomes = outcomes
        self.records = records
        self.received = received  # everything that reached the server

    def __getitem__(self, of: Case) -> Outcome:
        return self._outcomes[of.tool]


def run_registered(route: Route, folder: Path, *, is_modern: bool) -> Seen:
    """Put every registered case through one gateway with default settings, each tool under its own policy."""
    return run_cases(registered(), route, folder, is_modern=is_modern)


def run_cases(
    cases: list[Case],
    route: Route,
    folder: Path,
    settings: Json = None,
    *,
    server: Json = None,
    is_modern: bool = False,
    environment: dict[str, str] | None = None,
) -> Seen:
    tools = [tool(each.tool, each.input_schema, each.output_schema) for each in cases if each.is_listed]
    stub = write_stub(folder, tools=tools, answers={each.tool: each.answer for each in cases})
    own = dict(server or {})
    own["tools"] = {each.tool: _merged(each.policy) for each in cases if each.policy} | own.get("tools", {})
    sent: dict[str, list[Sent]] = {}
    # Hundreds of calls are refused here in a minute, and each is looked up in the history.
    settings = {"activity": {"whole_refusals": None}, **(settings or {})}
    # All cases are on one page, some with schemas of megabytes.
    settings["limits"] = {"list_bytes": 64 * 1024 * 1024, **settings.get("limits", {})}
    with rig(route, stub, folder, settings, server=own, is_modern=is_modern, environment=environment) as gateway:
        for each in cases:
            sent[each.tool] = [_send(gateway, each.tool, text) for text in each.calls]
    records = list(reversed(gateway.records()))
    reached = defaultdict(list)
    for entry in stub.journal.messages():
        message = entry.message
        if isinstance(message, dict) and message.get("method") == "tools/call":
            reached[message["params"]["name"]].append(entry)
    outcomes = {
        each.tool: Outcome(
            each,
            route,
            is_modern,
            sent[each.tool],
            reached[each.tool],
            [record for record in records if record["tool"] == each.tool and record["type"] != "contract_change"],
        )
        for each in cases
    }
    return Seen(outcomes, records, stub.journal.messages())


def _merged(policy: Mapping[str, Json]) -> Json:
    return {block: dict(keys) for block, keys in policy.items()}


def _send(gateway: Gateway, name: str, arguments: bytes | None) -> Sent:
    message = call_message(gateway.next_id(), name, arguments, is_modern=gateway.is_modern)
    try:
        return Sent(message, gateway.exchange(message))
    except (OSError, EOFError) as problem:
        # One call without an answer is one test that fails, not all of them.
        return Sent(message, Answer(json.dumps({"no answer": str(problem)}).encode()))
