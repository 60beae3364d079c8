"""The tools of a project in the toolkit's registry: each view tool with its contract, and dispatchers over them."""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any, Final

from django.core.exceptions import ImproperlyConfigured

from handfast.core.answers.errors import error_invalid_input
from handfast.core.call.exchange import Recorder
from handfast.core.call.policy import InputPolicy, Mode, OutputPolicy, Posture, ToolPolicy
from handfast.core.call.protocol_arguments import CONTINUATION_TOKEN
from handfast.django.conf import AdapterSettings
from handfast.django.discovery import ViewTool
from handfast.django.invocation import invoke, invoke_each
from handfast.django.service.short_answers import LeanForm, lean_form
from handfast.toolkit.offering.published import OBJECTS
from handfast.toolkit.registry import ToolRegistry
from handfast.toolkit.running.kept_results import ResultStore
from handfast.toolkit.writing.call import Call
from handfast.toolkit.writing.reply import Reply
from handfast.toolkit.writing.schemas import ContractError
from handfast.toolkit.writing.spec import Kind, Run, ToolSpec
from handfast.toolkit.writing.typed_form import guarded_schema

_PAGE_ITEMS: Final = "results"  # where REST framework's pages have their rows
_BOTH: Final = (
    f"'{OBJECTS}' holds several objects, and there are fields beside it."
    f" Send '{OBJECTS}' alone, or the fields of one object alone."
)
_ABOUT_RESOURCE: Final = "Everything that can be done with {resource}."


def policy_of(settings: AdapterSettings) -> ToolPolicy:
    """Strict for arguments and results; undeclared scalars pass by default and are named in the answer."""
    return ToolPolicy(
        InputPolicy(mode=Mode.STRICT, unknown_arguments=settings.unknown_arguments, errors=settings.errors),
        OutputPolicy(mode=Mode.STRICT, missing_structured_content=Posture.BLOCK),
    )


def build_registry(
    tools: Iterable[ViewTool],
    settings: AdapterSettings,
    *,
    recorder: Recorder | None,
    results: ResultStore | None = None,
) -> ToolRegistry:
    """Raises: ImproperlyConfigured."""
    registry = ToolRegistry(
        settings.name,
        recorder=recorder,
        timeout_s=None,  # a view cannot be stopped from outside; the server in front of Django has its own limit
        policy=policy_of(settings),
        in_threads=True,
        piece_bytes=settings.piece_bytes,
        results=results,
    )
    try:
        found = list(tools)
        for tool in found:
            registry.add(spec_of(tool, settings))
        _add_dispatchers(registry, found, settings)
        registry.freeze()
    except ContractError as problem:
        raise ImproperlyConfigured(str(problem)) from None
    return registry


# --- one tool --------------------------------------------------------------------------------------------------------


def spec_of(tool: ViewTool, settings: AdapterSettings) -> ToolSpec:
    """Raises: ContractError."""
    kind = Kind(tool.kind)
    lean = lean_form(tool, settings.lean_writes, settings.piece_bytes)
    return ToolSpec(
        tool.name,
        tool.description,
        guarded_schema(_held(tool.input_schema), kind),
        invoke,
        kind=kind,
        output_schema=(tool.output_schema if lean is None else lean.output_schema) or None,
        hints=tool.annotations,
        run=_run_one(tool, lean),
        run_list=_run_list(tool, lean) if _takes_several(tool) else None,
        in_pieces=kind is Kind.READ and CONTINUATION_TOKEN not in tool.input_schema.get("properties", {}),
        items_key=_PAGE_ITEMS,
    )


def _held(schema: Mapping[str, Any]) -> dict[str, Any]:  # Any: JSON Schema
    """The schema without the author's rule for undeclared arguments, since here none of them passes unnamed."""
    closed = {key: part for key, part in schema.items() if key not in ("additionalProperties", "patternProperties")}
    return {"type": "object", "properties": {}, **closed}


def _takes_several(tool: ViewTool) -> bool:
    """Whether a call can send a list of bodies: the tool creates, and requires no arguments beside the body."""
    is_create = tool.action == "create" and tool.method == "POST"
    needs_more = any(each.is_required for each in tool.path.parameters) or any(each.is_required for each in tool.query)
    return is_create and not needs_more and not tool.takes_list and tool.body is not None and tool.kind != "admin"


def _run_one(tool: ViewTool, lean: LeanForm | None) -> Run:
    is_guarded = tool.kind == "admin"
    offers_list = _takes_several(tool) and OBJECTS not in tool.input_schema.get("properties", {})

    async def run(_: Any, arguments: dict[str, Any], call: Call) -> Reply[Any]:  # Any: no model; JSON
        if offers_list and isinstance(arguments.get(OBJECTS), list):
            raise error_invalid_input(_BOTH)  # both are published, and the list would be dropped
        if is_guarded:
            arguments = {key: value for key, value in arguments.items() if key not in ("confirm", "reason")}
        answer = invoke(tool, arguments, call.context)
        return Reply(answer if lean is None else lean.of(answer, arguments))

    return run


def _run_list(tool: ViewTool, lean: LeanForm | None) -> Run:
    async def run(_: Any, arguments: dict[str, Any], call: Call) -> Reply[Any]:  # Any: as above
        ((key, items),) = arguments.items()
        answers = invoke_each(tool, items, call.context, key=key)
        return Reply(answers if lean is None else lean.of_each(answers, items))

    return run


# --- dispatchers -----------------------------------------------------------------------------------------------------


def _add_dispatchers(registry: ToolRegistry, tools: list[ViewTool], settings: AdapterSettings) -> None:
    if settings.dispatchers == "resources":
        for resource, actions in _by_resource(tools).items():
            if len(actions) > 1:  # a dispatcher for a single tool would only be longer
                about = _ABOUT_RESOURCE.format(resource=resource.replace("__", " "))
                registry.dispatcher(resource, about, actions=actions, hides_tools=settings.hide_dispatched)
    elif isinstance(settings.dispatchers, Mapping):
        for name, patterns in settings.dispatchers.items():
            _add_group(registry, name, patterns, tools, settings)


def _add_group(
    registry: ToolRegistry, name: str, patterns: tuple[str, ...], tools: list[ViewTool], settings: AdapterSettings
) -> None:
    named = [tool for tool in tools if any(fnmatchcase(tool.name, pattern) for pattern in patterns)]
    if not named:
        raise ContractError(f"No tool matches HANDFAST['DISPATCHERS'][{name!r}]. Write patterns such as 'contacts__*'.")
    resources = _by_resource(named)
    alone = {tool.name for tool in named} - {name for actions in resources.values() for name in actions.values()}
    what = [*(each.replace("__", " ") for each in resources), *sorted(alone)]
    about = f"Everything that can be done with {', '.join(what)}."
    registry.dispatcher(name, about, actions=sorted(alone), resources=resources, hides_tools=settings.hide_dispatched)


def _by_resource(tools: Iterable[ViewTool]) -> dict[str, dict[str, str]]:
    """Groups tools by the part of their name before the action; leaves out those with a name of their own."""
    found: dict[str, dict[str, str]] = {}
    for tool in tools:
        for action in (tool.action, f"{tool.action}__{tool.method.lower()}"):
            resource = tool.name.removesuffix(f"__{action}")
            if resource != tool.name:
                found.setdefault(resource, {})[action] = tool.name
    return found
