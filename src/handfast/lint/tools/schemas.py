"""What is wrong with the schemas of one tool."""

from collections.abc import Iterator
from urllib.parse import urljoin

from handfast.core.schema.compiled import CompiledSchema, SchemaRefused, UncompilableSchema, compile_schema, read_schema
from handfast.core.schema.costs import mapping
from handfast.core.schema.references import Node, References, UnresolvedReference, read_references
from handfast.core.words.redaction import scrub_names
from handfast.lint.tools.definitions import ResultType
from handfast.lint.tools.headers import find_header_faults
from handfast.lint.tools.open_objects import find_open_objects
from handfast.lint.tools.satisfiable import can_be_met
from handfast.lint.tools.schema_positions import join, positions

Fault = tuple[str, str, str]  # the finding's id, the path within the schema, and a sentence


def find_input_faults(text: bytes | None) -> Iterator[Fault]:
    if text is None:
        yield "tool-input-root", "", "The tool declares no input schema."
        return
    yield from _find_any_faults(text)
    content = _content(text)
    if content is None:
        return
    if not _is_object(content):
        yield "tool-input-root", "", "The root of the input schema does not say that it is an object."
    yield from find_header_faults(content)
    yield from find_open_objects(content)
    bare = [name for name, part in _parameters(content) if not _has_description(part, content)]
    if bare:
        names = ", ".join(scrub_names(bare))
        yield "tool-parameter-description", "properties", f"Parameters without a description: {names}."


def find_output_faults(text: bytes | None) -> Iterator[Fault]:
    if text is None:
        return
    yield from _find_any_faults(text)
    content = _content(text)
    if content is None:
        return
    if not _is_object(content):
        yield "tool-output-root", "", "The root of the output schema does not say that it is an object."


def _find_any_faults(text: bytes) -> Iterator[Fault]:
    compiled = compile_schema(text)
    if isinstance(compiled, UncompilableSchema):
        content = _content(text)
        stray = list(find_stray_references(content))
        # One of them is why it does not compile; what else may be wrong shows once they lead somewhere.
        yield from stray or [("tool-schema-uncompilable", "", compiled.reason)]
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
    """An output schema and a result type that no value has in common."""
    promised, returned = compile_schema(result.promised), compile_schema(result.returned)
    if not isinstance(promised, CompiledSchema) or not isinstance(returned, CompiledSchema):
        return
    if can_be_met(promised) and can_be_met(returned) and not can_be_met(promised, returned):
        yield "tool-result-type", "", "Nothing that the handler may return can meet this schema."


def _content(text: bytes) -> object:
    """The decoded schema; None where it cannot even be read safely."""
    try:
        content: object = read_schema(text)
    except SchemaRefused:
        return None
    return content


def _is_object(content: object) -> bool:
    return isinstance(content, dict) and content.get("type") == "object"


def _parameters(content: object) -> list[tuple[str, object]]:
    return list(mapping(content, "properties").items()) if isinstance(content, dict) else []


def _has_description(part: object, root: object) -> bool:
    if not isinstance(part, dict):
        return False
    if isinstance(part.get("description"), str) and part["description"].strip():
        return True
    reference = part.get("$ref")
    targets = _targets(reference, read_references(root)) if isinstance(reference, str) else []
    return any(isinstance(target.get("description"), str) for target in targets)


def _targets(reference: str, references: References) -> list[Node]:
    try:
        return references.targets(reference)
    except UnresolvedReference:
        return []


def find_stray_references(content: object) -> Iterator[Fault]:
    """References that lead out of the schema, or nowhere."""
    references = read_references(content)
    known = {_full(references, position.schema.get("$id")) for position in positions(content)}
    for position in positions(content):
        reference = position.schema.get("$ref")
        if isinstance(reference, str) and (why := _astray(reference, references, known)):
            yield "tool-schema-reference", join(position.path, "$ref"), why


def _full(references: References, address: object) -> str:
    """An address as the schema's own address completes it; empty for what is none."""
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
        return ""  # it may mean a place in a schema within this one
    try:
        references.targets(reference)
    except UnresolvedReference:
        return "This reference leads nowhere."
    return ""
