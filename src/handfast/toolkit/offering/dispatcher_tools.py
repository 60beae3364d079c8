"""Dispatcher tools: one tool, `{action, resource?, arguments}`, that explains and calls many others.

Calling an action calls its tool by `ToolRegistry.dispatch()`, and is judged, counted and recorded as that. Other keys
in the dispatcher's arguments are refused, never dropped. The rules are in core, shared with the gateway.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import msgspec

from handfast.core.answers.envelopes import Envelope
from handfast.core.answers.outcome import Succeeded
from handfast.core.call import rules
from handfast.core.call.policy import Blocked
from handfast.core.call.strict_json import Ambiguous, decode_arguments
from handfast.core.dispatcher.asked import DispatcherCall, DispatcherRefused, Wishes, ambiguous, read_asked, read_wishes
from handfast.core.dispatcher.checks import (
    ARGUMENTS,
    HELP,
    action_missing,
    action_unknown,
    check_beside,
    not_an_object,
    tool_name,
)
from handfast.core.dispatcher.descriptions import NARROW, dispatcher_schema, how_to_call, list_actions, render_use
from handfast.core.words.redaction import scrub_names
from handfast.core.words.wording import type_of
from handfast.toolkit.offering.protocol_calls import about, declared_by
from handfast.toolkit.running.dispatch import Answer, Dispatcher, RegisteredTool, ToolCaller, text_of
from handfast.toolkit.running.unrun import answer_with_help, refuse_call
from handfast.toolkit.writing.schemas import ContractError
from handfast.toolkit.writing.spec import NAME, Kind, ToolSpec

Names = Mapping[str, str] | Sequence[str]  # tools by action, or tools whose names are the actions
Actions = Mapping[str, RegisteredTool]
Dispatch = Callable[[str, Any, ToolCaller], Awaitable[Answer]]  # Any: the arguments of the action

_DANGER = (Kind.READ, Kind.WRITE, Kind.ADMIN)


def name_actions(name: str, actions: Names, resources: Mapping[str, Names]) -> dict[str, str]:
    """Every action with its tool; an action of a resource is `resource__action`. Raises: ContractError."""
    named = [(None, actions), *resources.items()]
    pairs = [(tool_name(action, resource), tool) for resource, names in named for action, tool in _pairs(names)]
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ContractError(f"Two actions of '{name}' have the same name; rename one of them.")
    if not found:
        raise ContractError(f"'{name}' has no actions; name the tools that stand behind it.")
    for action in found:
        if action == HELP or not NAME.fullmatch(action):
            raise ContractError(
                f"'{action}' cannot name an action of '{name}'. Use letters, digits, '_' or '-'; help is its own."
            )
    return found


def _pairs(names: Names) -> list[tuple[str, str]]:
    return list(names.items()) if isinstance(names, Mapping) else [(name, name) for name in names]


def dispatcher_spec(name: str, description: str, actions: Actions, *, envelope: Envelope, title: str = "") -> ToolSpec:
    """The dispatcher's spec: as dangerous as its most dangerous action, with an output schema that fits all actions."""
    specs = [tool.spec for tool in actions.values()]
    described = {action: tool.spec.description for action, tool in actions.items()}
    return ToolSpec(
        name,
        f"{description.strip()} {render_use(described)}" if description.strip() else "",
        dispatcher_schema(actions),
        _run_nothing,
        kind=max((spec.kind for spec in specs), key=_DANGER.index),
        # In the other envelopes the data may be anything; of a plain result only the type object is known.
        output_schema={"type": "object"} if envelope is Envelope.PLAIN else None,
        title=title,
        hints=_worst([spec.annotations for spec in specs]),
        is_dispatcher=True,
    )


def _worst(said: Sequence[Mapping[str, bool]]) -> dict[str, bool]:
    """The annotations combined. Not derived from kinds, as a tool that deletes need not be an admin tool."""
    return {
        "readOnlyHint": all(each["readOnlyHint"] for each in said),
        "destructiveHint": any(each["destructiveHint"] for each in said),
        "idempotentHint": all(each["idempotentHint"] for each in said),
        "openWorldHint": any(each["openWorldHint"] for each in said),
    }


def _run_nothing(**_: Any) -> NoReturn:  # Any: as a handler takes them
    raise ContractError("A dispatcher has no handler: its actions have.")


def _judged(arguments: object) -> object:
    """The arguments, decoded from strict JSON, which every parser reads alike. Raises: DispatcherRefused."""
    try:
        return decode_arguments(text_of(arguments))
    except Ambiguous as problem:
        raise ambiguous(problem) from None


class SeenActions(Mapping[str, RegisteredTool]):
    """The actions that a caller sees; each is checked on use only, as a call needs just one."""

    def __init__(self, actions: Actions, sees: Callable[[str], bool]) -> None:
        self._actions = actions
        self._sees = sees

    def __getitem__(self, action: str) -> RegisteredTool:
        tool = self._actions[action]
        if not self._sees(tool.spec.name):
            raise KeyError(action)
        return tool

    def __iter__(self) -> Iterator[str]:
        return (action for action, tool in self._actions.items() if self._sees(tool.spec.name))

    def __len__(self) -> int:
        return sum(1 for _ in self)


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatcherTool:
    """One dispatcher with its actions."""

    tool: RegisteredTool
    actions: Actions
    description: str = ""  # as its author wrote it

    def for_caller(self, sees: Callable[[str], bool]) -> "DispatcherTool":
        """The dispatcher with the actions that this caller sees."""
        return replace(self, actions=SeenActions(self.actions, sees))

    def about_actions(self) -> dict[str, Any]:  # Any: JSON
        """The parts of its list entry that depend on its actions."""
        described = {action: tool.spec.description for action, tool in self.actions.items()}
        text = f"{self.description.strip()} {render_use(described)}"
        return {"description": text, "inputSchema": dispatcher_schema(self.actions)}

    async def call(self, arguments: object, caller: ToolCaller, dispatcher: Dispatcher, dispatch: Dispatch) -> Answer:
        """Explains, refuses, or calls an action by `dispatch`. Raises: RecordingFailed."""
        seen = self if caller.sees is None else self.for_caller(caller.sees)
        return await seen._called(arguments, caller, dispatcher, dispatch)

    async def _called(
        self, arguments: object, caller: ToolCaller, dispatcher: Dispatcher, dispatch: Dispatch
    ) -> Answer:
        asked: DispatcherCall[object] = DispatcherCall()
        try:
            asked = read_asked(_judged(arguments))
            if asked.wants_help or asked.tool == HELP:
                told = self._explain(read_wishes(asked, lambda given: given))
                return await answer_with_help(
                    dispatcher, self.tool, arguments, caller, told=told, rule=rules.DISPATCH_HELP
                )
            action = self._require_action(asked)
        except DispatcherRefused as problem:
            details = {"action": asked.tool} if asked.tool in self.actions else {}
            decision = Blocked(problem.violation.rule, problem.violation.message)
            told_no = dispatcher.refused(decision)
            return await refuse_call(
                dispatcher, self.tool, arguments, caller, told=told_no, rule=decision.rule, details=details
            )
        return await dispatch(action.spec.name, asked.arguments, msgspec.structs.replace(caller, inside=ARGUMENTS))

    def _require_action(self, asked: DispatcherCall[object]) -> RegisteredTool:
        """The tool of the action. Raises: DispatcherRefused."""
        if asked.tool is None:
            raise DispatcherRefused(action_missing(self.actions, asked.beside))
        action = self.actions.get(asked.tool)
        if action is None:
            raise DispatcherRefused(action_unknown(asked.tool, self.actions, resource=asked.resource))
        within = asked.arguments if isinstance(asked.arguments, dict) else ()
        violation = check_beside(asked.beside, asked.tool, declared_by(action), within)
        if violation is None and not isinstance(asked.arguments, dict | None):
            violation = not_an_object(type_of(asked.arguments))
        if violation is not None:
            raise DispatcherRefused(violation)
        return action

    def _explain(self, wishes: Wishes) -> Succeeded:
        """All actions with one line each, or one action in full. Raises: DispatcherRefused."""
        if wishes.tool is None:
            told = self._overview(wishes)
        elif wishes.tool in self.actions:
            told = {"action": wishes.tool, **about(self.actions[wishes.tool])}
        else:
            raise DispatcherRefused(action_unknown(wishes.tool, self.actions))
        if wishes.ignored:
            told["ignored"] = scrub_names(wishes.ignored)
        return Succeeded(told)

    def _overview(self, wishes: Wishes) -> dict[str, Any]:  # Any: JSON
        described = {action: tool.spec.description for action, tool in self.actions.items()}
        shown, left = list_actions(described, wishes.word)
        told: dict[str, Any] = {"actions": shown, "of": len(described), "how": how_to_call(described)}  # Any: as above
        if left:
            told["left_out"] = f"{left} more. Narrow the list with {NARROW}."
        return told
