"""Faults in the schemas of one tool: references, headers, open objects, and schemas that no value can meet."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urljoin

from handfast.core.schema.compiled import (
    DEFAULT_BOUNDS,
    CompiledSchema,
    SchemaRefused,
    UncompilableSchema,
    compile_schema,
    read_schema,
)
from handfast.core.schema.costs import mapping
from handfast.core.schema.patterns import pattern_fault
from handfast.core.schema.references import Node, References, UnresolvedReference, read_references
from handfast.core.schema.text import ONE_SCHEMA, SCHEMA_LISTS, SCHEMA_MAPS
from handfast.core.words.redaction import is_secret_name, scrub_name, scrub_names
from handfast.lint.tools.definitions import ResultType
from handfast.lint.tools.satisfiable import can_be_met

MARK = "x-mcp-header"
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, section 5.6.2
_TYPES = ("string", "integer", "boolean")
_SAYS = ("additionalProperties", "unevaluatedProperties")
_OPTIONS = ("anyOf", "oneOf")
_ONE_BELOW = ("items", "additionalItems", "unevaluatedItems", "contains", *_SAYS)
_MAPS_BELOW = ("properties", "patternProperties")
_NESTED = "This object does not say whether it takes undeclared keys."
_ROOT = "The input does not say whether it takes undeclared arguments."
Fault = tuple[str, str, str]  # the finding's id, the path within the schema, and a sentence


@dataclass(frozen=True, slots=True)
class Position:
    path: str  # from the root, such as properties/address/items
    schema: Node
    names: tuple[str, ...] | None  # of the properties that lead here; None where other keywords do


def schema_positions(root: object) -> Iterator[Position]:
    """Every subschema, the root first."""
    pending: list[tuple[str, object, tuple[str, ...] | None]] = [("", root, ())]
    while pending:
        path, node, names = pending.pop()
        if not isinstance(node, dict):
            continue
        yield Position(path, node, names)
        pending.extend(reversed(list(_below_position(path, node, names))))


def _below_position(
    path: str, node: Node, names: tuple[str, ...] | None
) -> Iterator[tuple[str, object, tuple[str, ...] | None]]:
    for keyword, value in node.items():
        if keyword in SCHEMA_MAPS and isinstance(value, dict):
            for name, part in value.items():
                leads = (*names, name) if keyword == "properties" and names is not None else None
                yield join_path(path, keyword, name), part, leads
        elif keyword in SCHEMA_LISTS and isinstance(value, list):
            for place, part in enumerate(value):
                yield join_path(path, keyword, str(place)), part, None
        elif keyword in ONE_SCHEMA:
            yield join_path(path, keyword), value, None


def join_path(path: str, *steps: str) -> str:
    """Extends a path; names that the schema's author chose are made safe to show."""
    scrubbed = (scrub_name(step).replace("~", "~0").replace("/", "~1") for step in steps)
    return "/".join((path, *scrubbed) if path else scrubbed)


def find_header_faults(schema: object) -> Iterator[tuple[str, str, str]]:
    """Faults in the header marks of an input schema: the finding's id, the path, and why, as a sentence."""
    taken: set[str] = set()
    for position in schema_positions(schema):
        if MARK not in position.schema:
            continue
        why = _broken_rule(position, taken)
        if why:
            yield "tool-header", join_path(position.path, MARK), why
        if position.names and is_secret_name(position.names[-1]):
            yield "tool-header-secret", position.path, "The name of this parameter looks like that of a secret."


def _broken_rule(position: Position, taken: set[str]) -> str:
    header = position.schema[MARK]
    if not position.names:
        return "Only a parameter under nothing but properties may be repeated in a header."
    if not isinstance(header, str) or not _TOKEN.fullmatch(header):
        return "This is not the name of a header: letters, digits and a few signs, and no spaces."
    if position.schema.get("type") not in _TYPES:
        return "Only a string, an integer or a boolean may be repeated in a header."
    if header.lower() in taken:
        return "Another parameter is repeated in the same header."
    taken.add(header.lower())
    return ""


def find_open_objects(content: object) -> Iterator[tuple[str, str, str]]:
    """Open objects, each once where it is written, however often it is used: the finding's id, its path, a sentence."""
    if not isinstance(content, dict):
        return
    paths = {id(position.schema): position.path for position in schema_positions(content)}
    for node, is_root in _OpenObjectWalk(content).open_objects():
        yield ("tool-open-root", "", _ROOT) if is_root else ("tool-open-object", paths.get(id(node), ""), _NESTED)


class _OpenObjectWalk:
    def __init__(self, root: Node) -> None:
        self.root = root
        self.references: References = read_references(root)

    def open_objects(self) -> Iterator[tuple[Node, bool]]:
        """The open objects from the root down, each with whether it is the root itself."""
        pending: list[tuple[Node, bool]] = [(self.root, False)]  # and whether a schema around it says it already
        seen: set[tuple[int, bool]] = set()
        found: set[int] = set()
        while pending:
            node, is_said = pending.pop()
            if (id(node), is_said) in seen:
                continue
            seen.add((id(node), is_said))
            together = self.together(node)
            is_said = is_said or any(keyword in part for part in together for keyword in _SAYS)
            written = next(filter(_is_object_part, together), None)
            if written is not None and not is_said:
                is_said = True  # an option of a reported object is part of it, and is not reported again
                if id(written) not in found:
                    found.add(id(written))
                    yield written, node is self.root
            pending += [(child, False) for part in reversed(together) for child in reversed(list(_below(part)))]
            pending += [(option, is_said) for part in reversed(together) for option in reversed(_options(part))]

    def together(self, node: Node) -> list[Node]:
        """The node, what it refers to, and everything under its allOf: all of them apply to the same value."""
        found: dict[int, Node] = {}
        pending = [node]
        while pending:
            part = pending.pop()
            if id(part) in found:
                continue
            found[id(part)] = part
            pending += _referred(part, self.references)
            pending += _nodes(part.get("allOf"))
        return list(found.values())


def _is_object_part(node: Node) -> bool:
    declared = node.get("type")
    names = declared if isinstance(declared, list) else [declared]
    return "object" in names or (declared is None and "properties" in node)


def _options(node: Node) -> list[Node]:
    return [option for keyword in _OPTIONS for option in _nodes(node.get(keyword))]


def _below(node: Node) -> Iterator[Node]:
    for keyword in _MAPS_BELOW:
        yield from _nodes(list(mapping(node, keyword).values()))
    for keyword in _ONE_BELOW:
        yield from _nodes([node.get(keyword)])
    for keyword in ("prefixItems", "items"):
        yield from _nodes(node.get(keyword))


def _nodes(parts: object) -> list[Node]:
    return [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []


def find_input_faults(text: bytes | None) -> Iterator[Fault]:
    if text is None:
        yield "tool-input-root", "", "The tool declares no input schema."
        return
    yield from _find_any_faults(text, "input", "tool-input-root")
    content = _content(text)
    yield from find_header_faults(content)
    yield from find_open_objects(content)
    parameters = mapping(content, "properties") if isinstance(content, dict) else {}
    bare = [name for name, part in parameters.items() if not _has_description(part, content)]
    if bare:
        names = ", ".join(scrub_names(bare))
        yield "tool-parameter-description", "properties", f"Parameters without a description: {names}."


def find_output_faults(text: bytes | None) -> Iterator[Fault]:
    if text is not None:
        yield from _find_any_faults(text, "output", "tool-output-root")


def _find_any_faults(text: bytes, side: str, root_fault: str) -> Iterator[Fault]:
    yield from _find_unusable(text)
    content = _content(text)
    if content is not None and (not isinstance(content, dict) or content.get("type") != "object"):
        yield root_fault, "", f"The root of the {side} schema does not say that it is an object."


def _find_unusable(text: bytes) -> Iterator[Fault]:
    compiled = compile_schema(text)
    if isinstance(compiled, UncompilableSchema):
        content = _content(text)
        located = [*find_stray_references(content), *find_faulty_patterns(content)]
        # One of them is why it does not compile; other faults show once these are corrected.
        yield from located or [("tool-schema-uncompilable", "", compiled.reason)]
        return
    yield from find_stray_references(compiled.content)
    if compiled.validator is None:
        yield (
            "tool-schema-heavy",
            "",
            "The schema is heavy or looks around in a pattern, and runs in a process of its own.",
        )
    if not can_be_met(compiled):
        yield "tool-schema-impossible", "", "No value can meet this schema."


def find_result_faults(result: ResultType) -> Iterator[Fault]:
    """A fault where no value meets both the output schema and the result type."""
    promised, returned = compile_schema(result.promised), compile_schema(result.returned)
    if not isinstance(promised, CompiledSchema) or not isinstance(returned, CompiledSchema):
        return
    if can_be_met(promised) and can_be_met(returned) and not can_be_met(promised, returned):
        yield "tool-result-type", "", "Nothing that the handler may return can meet this schema."


def _content(text: bytes) -> object:
    """The decoded schema; None where it cannot be read safely."""
    try:
        return read_schema(text)
    except SchemaRefused:
        return None


def _has_description(part: object, root: object) -> bool:
    if not isinstance(part, dict):
        return False
    if isinstance(part.get("description"), str) and part["description"].strip():
        return True
    return any(isinstance(target.get("description"), str) for target in _referred(part, read_references(root)))


def _referred(node: Node, references: References) -> list[Node]:
    reference = node.get("$ref")
    try:
        return references.targets(reference) if isinstance(reference, str) else []
    except UnresolvedReference:
        return []


def find_stray_references(content: object) -> Iterator[Fault]:
    """References that lead out of the schema, or nowhere."""
    references = read_references(content)
    known = {_full(references, position.schema.get("$id")) for position in schema_positions(content)}
    for position in schema_positions(content):
        reference = position.schema.get("$ref")
        if isinstance(reference, str) and (why := _astray(reference, references, known)):
            yield "tool-schema-reference", join_path(position.path, "$ref"), why


def find_faulty_patterns(content: object) -> Iterator[Fault]:
    """Patterns that are no regular expressions or that no engine can match; their size is not a fault."""
    for position in schema_positions(content):
        keys = mapping(position.schema, "patternProperties")
        places: list[tuple[object, str]] = [(position.schema.get("pattern"), join_path(position.path, "pattern"))]
        places += [(pattern, join_path(position.path, "patternProperties", pattern)) for pattern in keys]
        for pattern, path in places:
            if isinstance(pattern, str) and (fault := pattern_fault(pattern, DEFAULT_BOUNDS.slow_regex_bytes)):
                yield "tool-schema-uncompilable", path, f"The pattern {fault}."


def _full(references: References, address: object) -> str:
    """An address, resolved against the schema's own; empty where it is not an address."""
    try:
        return urljoin(references.root_id, address) if isinstance(address, str) else ""
    except ValueError:
        return ""


def _astray(reference: str, references: References, known: set[str]) -> str:
    base = reference.partition("#")[0]
    if base and base != references.root_id:
        # The library brings the meta-schemas along, and a schema may hold others under an $id of their own.
        if "//json-schema.org/" in base or _full(references, base) in known - {""}:
            return ""
        return "This reference leads out of the schema."
    if references.is_compound:
        return ""  # the reference may lead into a schema within this one
    try:
        references.targets(reference)
    except UnresolvedReference:
        return "This reference leads nowhere."
    return ""
