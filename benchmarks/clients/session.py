"""The session that every client holds: its steps, and what each must give through the gateway."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any  # Any: steps and outcomes are JSON

Json = Any  # Any: as above
_ADA = {"email": "ada@example.com", "first_name": "Ada"}
_NESTED = (
    "is not a declared field and its value is a nested object",
    "send fields flat at the top level",
)
_FEATURES = "demo://resource/static/document/features.md"


@dataclass(frozen=True, slots=True)
class Step:
    """One step with one server. Without `texts` its outcome must be that of the same session with nothing between."""

    name: str
    server: str
    kind: str
    what: Json = True
    texts: Sequence[str] = ()  # what the client's user must be able to read
    fails: bool = False  # and it must look like a failure

    def as_sent(self, prefix: str) -> Json:
        if self.kind in ("call", "watch", "prompt"):
            return {self.kind: {**self.what, "name": prefix + self.what["name"]}}
        return {self.kind: self.what}


@dataclass(frozen=True, slots=True)
class Problem:
    """A step that did not hold, and what it gave instead."""

    step: str
    detail: str


def _call(name: str, server: str, tool: str, *, kind: str = "call", **arguments: Json) -> Step:
    return Step(name, server, kind, {"name": tool, "arguments": arguments})


def _told(step: Step, *texts: str, fails: bool = False) -> Step:
    return Step(step.name, step.server, step.kind, step.what, texts, fails)


# Texts hold no quotes: some clients show the model a result's repr.
STEPS: Sequence[Step] = (
    Step("tools", "everything", "list"),
    _call("a call", "everything", "echo", message="caf\u00e9 \U0001f600"),
    _call("structured content", "everything", "get-structured-content", location="Chicago"),
    _told(_call("a tool's error", "everything", "get-resource-reference", resourceId=-1), fails=True),
    _call("progress", "everything", "trigger-long-running-operation", kind="watch", duration=0.3, steps=3),
    Step("resources", "everything", "resources"),
    Step("a resource", "everything", "read", _FEATURES),
    Step("prompts", "everything", "prompts"),
    _call("a prompt", "everything", "args-prompt", kind="prompt", city="Berlin"),
    _told(
        _call("arguments that break the schema", "everything", "get-sum", a="one", b=2),
        "The arguments do not fit what the tool declares",
        "must be a number",
        fails=True,
    ),
    _told(
        _call("a wrapped call", "everything", "echo", message="hello", data={"message": "goodbye"}),
        *_NESTED,
        "was sent already",
        fails=True,
    ),
    Step("contacts' tools", "contacts", "list", texts=("create_contact", "list_contacts", "contact_stats")),
    _told(_call("a contact", "contacts", "create_contact", **_ADA), "created"),
    _told(
        _call("a wrapped contact", "contacts", "create_contact", data=_ADA),
        *_NESTED,
        "directly, not inside",
        fails=True,
    ),
    _told(_call("the contacts", "contacts", "list_contacts"), "ada@example.com"),
    _told(
        _call("a result that breaks its schema", "contacts", "contact_stats"),
        "contact_stats",
        "must be an integer",
        fails=True,
    ),
)


def steps_with(server: str) -> list[Step]:
    return [step for step in STEPS if step.server == server]


def compared() -> list[Step]:
    """Those that are also taken with nothing in between."""
    return [step for step in STEPS if not step.texts]


def judge(step: Step, outcome: Json, direct: Json, prefix: str) -> str:
    """What did not hold, in some words; nothing if it did."""
    if not step.texts:
        own = _without(outcome, prefix, step)
        return "" if own == direct else f"gave {_shorten(own)}, and directly {_shorten(direct)}"
    readable = json.dumps(outcome, ensure_ascii=False)
    if missing := [text for text in step.texts if text not in readable]:
        return f"lacks \u201c{missing[0]}\u201d: {_shorten(outcome)}"
    if step.fails is not is_failure(outcome):
        return f"{'does not look' if step.fails else 'looks'} like a failure: {_shorten(outcome)}"
    return ""


def is_failure(outcome: Json) -> bool:
    return isinstance(outcome, dict) and ("raised" in outcome or bool(outcome.get("failed")))


def is_unsupported(outcome: Json) -> bool:
    return isinstance(outcome, dict) and "unsupported" in outcome


def _without(outcome: Json, prefix: str, step: Step) -> Json:
    """The outcome as it would be without the server's name before its tools and prompts, and without other servers'."""
    if prefix and isinstance(outcome, list):
        outcome = [each for each in outcome if step.kind == "resources" or _name(each).startswith(prefix)]
    return json.loads(json.dumps(outcome).replace(prefix, "")) if prefix else outcome


def _name(listed: Json) -> str:
    return str(listed["name"]) if isinstance(listed, dict) else str(listed)


def _shorten(outcome: Json) -> str:
    text = json.dumps(outcome, ensure_ascii=False)
    return text if len(text) <= 300 else f"{text[:299]}\u2026"


def differences(
    steps: Sequence[Step], outcomes: Sequence[Json], direct: Mapping[str, Json], prefixes: Mapping[str, str]
) -> Iterator[Problem]:
    """What did not hold of one session through the gateway."""
    for step, outcome in zip(steps, outcomes, strict=False):
        if detail := judge(step, outcome, direct.get(step.name), prefixes.get(step.server, "")):
            yield Problem(step.name, detail)
    yield from _early_or_late(steps, outcomes)


def troubles(steps: Sequence[Step], outcomes: Sequence[Json]) -> Iterator[Problem]:
    """What failed of a session with nothing in between: what is compared with it then says nothing."""
    for step, outcome in zip(steps, outcomes, strict=False):
        if is_failure(outcome) is not step.fails:
            yield Problem(step.name, f"gave {_shorten(outcome)}")
    yield from _early_or_late(steps, outcomes)


def _early_or_late(steps: Sequence[Step], outcomes: Sequence[Json]) -> Iterator[Problem]:
    """A session that broke off has an error in place of the next outcome; one that did not close, one too many."""
    for step in steps[len(outcomes) :]:
        yield Problem(step.name, "the session had ended")
    for outcome in outcomes[len(steps) :]:
        yield Problem("the end of the session", _shorten(outcome))
