"""Discovery: every tool that a project's urls lead to, and everything that is wrong with them."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from django.conf import settings
from django.utils import translation

from handfast.django.decorators import UNMARKED, ToolKind, mark_of
from handfast.django.discovery.assembly import (
    Assembly,
    Sent,
    Taken,
    UnknownSerializer,
    annotations_of,
    effective_mark,
    kind_of,
)
from handfast.django.discovery.descriptions import (
    LONGEST_EVERYWHERE,
    describe_tool,
    root_of,
    segments_of,
    shorten_name,
    tool_name,
    without_action,
)
from handfast.django.discovery.drf_types import Json
from handfast.django.discovery.parameters.path_arguments import path_template
from handfast.django.discovery.parameters.paths import AddressUnclear, PathTemplate, path_forms
from handfast.django.discovery.problems import DiscoveryProblem, DiscoveryProblems, ProblemId
from handfast.django.discovery.schemas.json_schemas import object_schema
from handfast.django.discovery.schemas.serializers import Shapes
from handfast.django.discovery.selection import read_selection
from handfast.django.discovery.tool import ViewTool
from handfast.django.discovery.views.bare_view import AskedView, ask_view, bare_view
from handfast.django.discovery.views.guarded_calls import Raised, call_guarded, without_database
from handfast.django.discovery.views.operations import (
    FoundView,
    Operation,
    find_view,
    is_left_alone,
    is_offered,
    operations_of,
)
from handfast.django.discovery.views.routes import PathForm, Route, UrlConf, group_names, walk_routes

_BY_NAME: Final = "Give one of them a name with @mcp_tool(name=…), or leave one out by its url: HANDFAST['EXCLUDE']."


@dataclass(frozen=True, slots=True)
class Discovery:
    """The tools in the order of their names, and the problems, errors first."""

    tools: tuple[ViewTool, ...]
    problems: tuple[DiscoveryProblem, ...]


@dataclass(frozen=True, slots=True)
class _Candidate:
    """An operation behind a url, with its name, before its view is asked."""

    name: str
    view: FoundView
    operation: Operation
    route: Route
    forms: tuple[PathForm, ...]
    segments: tuple[str, ...]

    @property
    def url(self) -> str:
        form = self.forms[0]
        return "".join(part if place % 2 == 0 else f"{{{part}}}" for place, part in enumerate(form.parts))

    @property
    def where(self) -> str:
        return f"{self.view.name}.{self.operation.handler}"


def discover(
    urlconf: UrlConf | None = None, *, include: Iterable[str] = (), exclude: Iterable[str] = ()
) -> tuple[ViewTool, ...]:
    """The tools of a url configuration, of the project's own if none is given."""
    return survey(urlconf, include=include, exclude=exclude).tools


def survey(
    urlconf: UrlConf | None = None,
    *,
    include: Iterable[str] = (),
    exclude: Iterable[str] = (),
    may_query: bool = True,
) -> Discovery:
    """The tools and the problems. Call it late: it reads the urls now, and misses those that are added afterwards.

    It queries the database only for serializers that keep their fields there, and only with `may_query`.

    Raises: ImproperlyConfigured, for settings that are not patterns and for urls that Django cannot read.
    """
    findings = DiscoveryProblems()
    selection = read_selection(include, exclude)
    # Texts are in the project's own language, not in that of the first caller.
    with translation.override(settings.LANGUAGE_CODE), without_database(on_request=may_query):
        candidates = [
            one for one in _candidates(walk_routes(urlconf), findings) if selection.admits(one.name, one.url, one.where)
        ]
        selection.note_unmatched(findings)
        assembly = Assembly(Shapes(findings), findings)
        tools = [_tool(one, assembly, findings) for one in _with_own_names(candidates, findings)]
    found = sorted((tool for tool in tools if tool is not None), key=lambda tool: tool.name)
    return Discovery(tuple(found), findings.sorted())


# --- which operations there are --------------------------------------------------------------------------------------


def _candidates(routes: Iterable[Route], findings: DiscoveryProblems) -> Iterator[_Candidate]:
    seen: set[tuple[str, str]] = set()
    for route in routes:
        view = find_view(route.callback)
        if view is None or route.is_format_suffix or is_left_alone(view):
            continue
        if not is_offered(view):
            _note_left_out(view, findings)
            continue
        for one in _of_route(route, view, findings):
            # Of two identical patterns Django only ever reaches the first.
            if (key := (route.regex, one.operation.method)) not in seen:
                seen.add(key)
                yield one


def _note_left_out(view: FoundView, findings: DiscoveryProblems) -> None:
    findings.add(
        ProblemId.LEFT_OUT,
        "Is not a tool: it is neither a viewset nor a generic view, so only its author knows what it takes and sends.",
        hint="Make it one with @mcp_tool(input=…, output=…), or hide this with @mcp_tool(exclude=True).",
        where=view.name,
    )


def _of_route(route: Route, view: FoundView, findings: DiscoveryProblems) -> Iterator[_Candidate]:
    try:
        forms = path_forms(route)
    except AddressUnclear as unclear:
        findings.add(
            ProblemId.ADDRESS_UNCLEAR,
            f"No path can be made from its url pattern: {unclear}.",
            hint="Write the pattern with path() and named parameters.",
            where=view.name,
        )
        return
    for operation in operations_of(view):
        if not (operation.mark or UNMARKED).exclude:
            name, segments = _name(route, view, operation, forms[-1])
            yield _Candidate(name, view, operation, route, forms, tuple(segments))


def _name(route: Route, view: FoundView, operation: Operation, form: PathForm) -> tuple[str, list[str]]:
    segments = without_action(segments_of(form, route.language), operation.url_path)
    if not segments:
        segments = [str(view.initkwargs.get("basename") or view.cls.__name__.lower())]
    own = operation.mark or UNMARKED
    of_class = mark_of(view.cls) or UNMARKED
    if own.name is not None:
        return own.name, segments
    named = [of_class.name] if of_class.name is not None else segments
    tail = [operation.action, operation.method] if operation.shares_action else [operation.action]
    return tool_name([*named, *tail[:-1]], tail[-1]), segments


def _with_own_names(candidates: list[_Candidate], findings: DiscoveryProblems) -> list[_Candidate]:
    """The candidates with a unique name: of two with the same name neither becomes a tool."""
    named: dict[str, list[_Candidate]] = defaultdict(list)
    for one in candidates:
        named[shorten_name(one.name)].append(one)
    for name, group in named.items():
        if len(group) > 1:
            urls = ", ".join(f"{one.operation.method.upper()} {one.url}" for one in group)
            findings.add(
                ProblemId.NAME_TAKEN,
                f"'{name}' would be the name of {len(group)} tools, so none of them is one: {urls}.",
                hint=_how_to_part([root_of(one.url) for one in group]),
                where=", ".join(dict.fromkeys(one.where for one in group)),
            )
        elif len(name) > LONGEST_EVERYWHERE:
            _note_length(name, group[0], findings)
    return [replace(group[0], name=name) for name, group in named.items() if len(group) == 1]


def _how_to_part(roots: list[str]) -> str:
    """The hint for a shared name. Two versions of one API share all names, so one line in the settings solves it."""
    if len(set(roots)) < len(roots):
        return _BY_NAME
    longest = max(roots, key=len)  # the shortest may be a prefix of every url
    return f"Leave one of them out: HANDFAST['EXCLUDE'] = ['{longest}*']. Or give it a name with @mcp_tool(name=…)."


def _note_length(name: str, one: _Candidate, findings: DiscoveryProblems) -> None:
    is_cut = name != one.name
    findings.add(
        ProblemId.NAME_SHORTENED if is_cut else ProblemId.NAME_LONG,
        f"Has a name of {len(one.name)} characters; "
        + (f"it is called '{name}'." if is_cut else f"some models take no more than {LONGEST_EVERYWHERE}."),
        hint="Give it a shorter one with @mcp_tool(name=…).",
        where=one.where,
    )


# --- each of them as a tool ------------------------------------------------------------------------------------------


def _tool(one: _Candidate, assembly: Assembly, findings: DiscoveryProblems) -> ViewTool | None:
    """The tool of a candidate; None where it cannot be made, which then is among the problems."""
    answer = call_guarded(lambda: _assembled(one, assembly, findings))
    if not isinstance(answer, Raised):
        return answer.value
    if answer.is_query:
        findings.add(
            ProblemId.FIELDS_STORED,
            "Keeps its fields in the database, which is not asked here; whether it is a tool shows when it is served.",
            hint="manage.py handfast doctor shows them.",
            where=one.where,
        )
        return None
    findings.add(
        ProblemId.VIEW_UNUSABLE,
        f"Is no tool: {answer.reason}",
        hint="Let the view be made and asked without a caller, or leave it out with @mcp_tool(exclude=True).",
        where=one.where,
    )
    return None


def _assembled(one: _Candidate, assembly: Assembly, findings: DiscoveryProblems) -> ViewTool | None:
    instance = bare_view(one.view, one.operation, group_names(one.route.regex))
    asked = ask_view(one.view, one.operation, instance, findings)
    mark = effective_mark(one.view, one.operation)
    try:
        taken = assembly.taken(one.operation, asked, mark)
    except UnknownSerializer:
        return None
    path = path_template(one.route, one.forms, asked, taken.names)
    kind = kind_of(one.operation, mark)
    described = mark.description or describe_tool(one.view, one.operation, asked, list(one.segments))
    return _finished(one, asked, taken, assembly.sent(one.operation, asked, mark), path, described, kind)


def _finished(
    one: _Candidate, asked: AskedView, taken: Taken, sent: Sent, path: PathTemplate, description: str, kind: ToolKind
) -> ViewTool:
    return ViewTool(
        name=one.name,
        description=description,
        method=one.operation.method.upper(),
        path=path,
        kind=kind,
        annotations=annotations_of(one.operation, kind),
        input_schema=_input_schema(path, taken),
        output_schema=sent.schema,
        query=taken.query,
        body=taken.body if taken.has_body else None,
        callback=one.route.callback,
        view=one.view.cls,
        action=one.operation.action,
        handler=one.operation.handler,
        initkwargs=one.view.initkwargs,
        url_name=":".join([*one.route.namespaces, one.route.url_name]) if one.route.url_name else None,
        is_list=sent.is_list,
        is_detail=bool(getattr(asked.view, "detail", None)) or any(each.is_lookup for each in path.parameters),
        is_partial=taken.is_partial,
        takes_list=taken.takes_list,
        input_serializer=taken.serializer,
        output_serializer=sent.serializer,
    )


def _input_schema(path: PathTemplate, taken: Taken) -> Json:
    properties = {each.name: each.schema for each in path.parameters}
    properties |= {parameter.name: parameter.schema for parameter in taken.query}
    properties |= taken.properties
    required = [each.name for each in path.parameters if each.is_required]
    required += [parameter.name for parameter in taken.query if parameter.is_required]
    schema = {**object_schema(properties, [*required, *taken.required]), **taken.rest}
    return {**schema, "$defs": taken.definitions} if taken.definitions else schema
