"""Rules for a dispatcher's arguments: an action, its arguments, and no other keys, which would get lost."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from handfast.core.call import rules
from handfast.core.call.field_lists import declared_line
from handfast.core.call.policy import Violation
from handfast.core.call.wrappers import nested_wrapper_message
from handfast.core.schema.declared import Declared
from handfast.core.words.nearest import nearest
from handfast.core.words.redaction import scrub_name, scrub_names

ACTION: Final = "action"
RESOURCE: Final = "resource"
ARGUMENTS: Final = "arguments"
HELP: Final = "help"  # also the name of the action that asks for help
OWN_KEYS: Final = frozenset((ACTION, RESOURCE, ARGUMENTS, HELP))

_NEAREST = 3
_MOST_COMPARED = 2000  # names of actions: some 30 ms at worst
_LEAST_LIKENESS = 0.5  # names of actions are long, and a word of one may be meant
_NOTHING_DECLARED: Final = Declared((), declares_nothing_said=False, is_open_to_all=False)
_ASK_FOR_HELP: Final = 'Send {"action": "help"} for the list.'


def tool_name(action: str, resource: str | None) -> str:
    """The name of the tool: a resource stands before its action, as in `contacts__create`."""
    return action if resource is None else f"{resource}__{action}"


def check_beside(
    beside: Mapping[str, object], tool: str, declared: Declared | None, within: Iterable[str] = ()
) -> Violation | None:
    """The violation for keys beside the dispatcher's own, which no tool would ever receive.

    `declared` is what the tool itself declares. A tool that allows additional keys does not open the dispatcher.
    `within` are the names inside "arguments".
    """
    if not beside:
        return None
    closed = replace(declared or _NOTHING_DECLARED, declares_nothing_said=False, is_open_to_all=False, _patterns=None)
    inside = dict.fromkeys(within)
    wrapped = nested_wrapper_message(beside, closed, inside=ARGUMENTS, sent=inside.keys())
    if wrapped is not None:
        return Violation(rules.ARGUMENTS_NESTED_WRAPPER, wrapped)
    if set(beside) <= set(closed.names):
        return Violation(
            rules.DISPATCH_FLAT, _flat_text([*inside, *(key for key in beside if key not in inside)], tool)
        )
    return Violation(
        rules.DISPATCH_UNKNOWN_KEY, _unknown_text([key for key in beside if key not in closed.names], closed)
    )


def _flat_text(keys: list[str], tool: str) -> str:
    shown = ", ".join(name if name == "..." else f"{json.dumps(name)}: …" for name in scrub_names(keys))
    sent = f'{{"action": {json.dumps(scrub_name(tool))}, "arguments": {{{shown}}}}}'
    return f'The fields of an action go inside "arguments". Send {sent} and call again.'


def _unknown_text(keys: list[str], declared: Declared) -> str:
    shown = ", ".join(name if name == "..." else f"'{name}'" for name in scrub_names(keys))
    what = f"Argument {shown} is" if len(keys) == 1 else f"Arguments {shown} are"
    advice = 'Remove what is not needed, put the fields of the action inside "arguments", and call again.'
    return f'{what} not allowed beside "action". {advice} {declared_line(declared)}'


def action_missing(names: Iterable[str], beside: Mapping[str, object] | None = None) -> Violation:
    """`beside` are the other keys that were sent: one of them may hold the whole call."""
    for key, value in (beside or {}).items():
        if isinstance(value, Mapping) and ACTION in value:
            own = ", ".join(json.dumps(name) for name in (ACTION, RESOURCE, ARGUMENTS) if name in value)
            name = scrub_name(key)
            text = f"Unwrap '{name}': send {own} directly, not inside {json.dumps(name, ensure_ascii=False)}."
            return Violation(rules.DISPATCH_ACTION, f'"action" must be the name of an action. {text}')
    text = f'"action" must be the name of an action. Actions: {_listed(names)}. {_ASK_FOR_HELP}'
    return Violation(rules.DISPATCH_ACTION, text)


def action_unknown(wanted: str, names: Iterable[str], *, resource: str | None = None) -> Violation:
    """The violation for an unknown action. Names similar actions, never the one that was sent.

    `resource` is the part of `wanted` that was sent as such, and may be what is wrong.
    """
    known = list(names)
    if resource is not None and (text := _resource_text(wanted, resource, known)):
        return Violation(rules.DISPATCH_UNKNOWN_ACTION, text)
    near = nearest(wanted, known, _NEAREST, least=_LEAST_LIKENESS, among=_MOST_COMPARED) or _containing(
        wanted.casefold(), known
    )
    shown = f"Nearest: {_listed(near)}" if near else f"Actions: {_listed(known)}"
    return Violation(rules.DISPATCH_UNKNOWN_ACTION, f"There is no action of this name. {shown}. {_ASK_FOR_HELP}")


def _resource_text(wanted: str, resource: str, known: list[str]) -> str:
    """The text where the action is there, but not with this resource; empty where the action is the fault."""
    action = wanted.removeprefix(tool_name("", resource))
    if action in known:
        return 'There is no such "resource" for this action. Leave "resource" out and call again.'
    end = tool_name(action, "")
    others = [name.removesuffix(end) for name in known if name.endswith(end)]
    if not others:
        return ""
    near = nearest(resource, others, _NEAREST, least=_LEAST_LIKENESS, among=_MOST_COMPARED)
    shown = f"Nearest: {_listed(near)}" if near else f"Resources: {_listed(others)}"
    return f'There is no such "resource" for this action. {shown}. {_ASK_FOR_HELP}'


def not_an_object(actual: str = "a string") -> Violation:
    """`actual` is what was sent, such as `an array`."""
    text = '"arguments" must be a JSON object with the fields of the action'
    is_text = actual == "a string"  # models send an object as the text of one
    advice = ". Send one, not a text of it, and call again." if is_text else f", not {actual}. Send one and call again."
    return Violation(rules.DISPATCH_ARGUMENTS, text + advice)


def _containing(word: str, known: list[str]) -> list[str]:
    return [name for name in known if word and word in name.casefold()][:_NEAREST]


def _listed(names: Iterable[str]) -> str:
    return ", ".join(scrub_names(names)) or "none"
