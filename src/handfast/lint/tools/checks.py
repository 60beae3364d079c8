"""Every check over tool definitions, one list of tools at a time."""

import re
from collections.abc import Iterator, Sequence

from handfast.core.call.strict_json import Ambiguous, decode_judged
from handfast.lint.findings import Finding, make_finding
from handfast.lint.tools.definitions import Definitions, ToolDefinition
from handfast.lint.tools.schemas import Fault, find_input_faults, find_output_faults, find_result_faults

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
# As the first word of a tool's name, these say that the tool removes something.
_REMOVING = frozenset(("delete", "destroy", "drop", "erase", "purge", "remove", "truncate", "uninstall", "wipe"))
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")


def check_tools(definitions: Definitions) -> list[Finding]:
    """Everything found in one list of tools, in no particular order."""
    found = list(definitions.findings)
    for tool in definitions.tools:
        found += [make_finding(rule_id, message, **tool.at(path)) for rule_id, path, message in _faults(tool)]
    return found + list(_find_duplicates(definitions.tools))


def _faults(tool: ToolDefinition) -> Iterator[Fault]:
    contract = tool.contract
    if not _NAME.fullmatch(contract.name):
        yield "tool-name", "name", "The name is not 1 to 128 of letters, digits, '_', '.' and '-'."
    if not contract.description.strip():
        yield "tool-description-missing", "", "The tool has no description."
    yield from _below("inputSchema", find_input_faults(contract.input_schema))
    yield from _below("outputSchema", find_output_faults(contract.output_schema))
    if tool.result is not None:
        yield from _below("outputSchema", find_result_faults(tool.result))
    yield from _find_annotation_faults(contract.name, contract.annotations)


def _below(where: str, faults: Iterator[Fault]) -> Iterator[Fault]:
    return ((rule_id, f"{where}/{path}" if path else where, message) for rule_id, path, message in faults)


def _find_annotation_faults(name: str, annotations: bytes | None) -> Iterator[Fault]:
    if annotations is None:
        yield "tool-annotations-missing", "", "The tool has no annotations."
        return
    hints = _decode(annotations)
    if not isinstance(hints, dict):
        yield "tool-annotations-invalid", "annotations", "The annotations are not an object."
        return
    odd = [hint for hint in _HINTS if not isinstance(hints.get(hint), bool | None)]
    if odd:
        yield "tool-annotations-invalid", "annotations", f"Neither true nor false: {', '.join(odd)}."
    if not any(isinstance(hints.get(hint), bool) for hint in _HINTS[:2]):
        yield "tool-annotations-missing", "annotations", "The annotations do not say what the tool may do."
    if hints.get("readOnlyHint") is not True:
        return
    if hints.get("destructiveHint") is True:
        message = "The tool is annotated as read-only and as destructive."
        yield "tool-read-only-contradiction", "annotations", message
    if first := _removing_word(name):
        yield "tool-read-only-name", "annotations", f"The tool is annotated as read-only, and its name says '{first}'."


def _decode(annotations: bytes) -> object:
    try:
        return decode_judged(annotations)
    except Ambiguous:
        return None


def _removing_word(name: str) -> str:
    """The first word of a name, or of its last part, where it says that the tool removes something; else empty."""
    for part in (name, re.split(r"__|[./]", name)[-1]):
        words = _WORDS.findall(part)
        if words and words[0].lower() in _REMOVING:
            return str(words[0]).lower()
    return ""


def _find_duplicates(tools: Sequence[ToolDefinition]) -> Iterator[Finding]:
    exact: dict[str, int] = {}
    folded: dict[str, str] = {}
    for tool in tools:
        name = tool.contract.name
        exact[name] = exact.get(name, 0) + 1
        other = folded.setdefault(name.casefold(), name)
        if exact[name] == 2:
            message = "The name is given to more than one tool."
            yield make_finding("tool-name-duplicate", message, **tool.at("name"))
        elif other != name:
            message = "Another tool has the same name, but for upper and lower case."
            yield make_finding("tool-name-case", message, **tool.at("name"))
