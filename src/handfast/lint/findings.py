"""Findings as data (level, message, hint and place), and the catalogue of all rule ids."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Final, TypedDict, Unpack


class Level(StrEnum):
    """The severity of a finding, in rising order."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"

    def is_at_least(self, other: "Level") -> bool:
        order = list(Level)
        return order.index(self) >= order.index(other)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong, in a source file or in the definition of a tool."""

    id: str
    level: Level
    message: str
    hint: str
    file: str = ""  # the path as the user gave it, with "/" between its parts
    line: int = 0  # 0: the file as a whole
    origin: str = ""  # the server or toolbox that listed the tool, where the tool is not from a file
    tool: str = ""
    path: str = ""  # within the tool's definition: inputSchema/properties/due

    @property
    def place(self) -> str:
        """Where to look, such as `src/app.py:12` or `contacts: create_contact/inputSchema`."""
        listed = self.file or self.origin
        if self.line:
            return f"{listed}:{self.line}"
        inside = "/".join(part for part in (self.tool, self.path) if part)
        return f"{listed}: {inside}" if inside else listed


def in_order(findings: list[Finding]) -> list[Finding]:
    """Sorts findings without duplicates; the order depends only on their content."""
    return sorted(
        set(findings), key=lambda one: (one.file or one.origin, one.line, one.tool, one.path, one.id, one.message)
    )


@dataclass(frozen=True, slots=True)
class Rule:
    """The level, summary and hint that belong to one id."""

    level: Level
    summary: str
    hint: str


class FindingPlace(TypedDict, total=False):
    """The fields of a finding that say where it is."""

    file: str
    line: int
    origin: str
    tool: str
    path: str


_ERROR, _WARNING, _INFO = Level.ERROR, Level.WARNING, Level.INFO

RULES: Final = MappingProxyType(
    {
        "boundary-typed": Rule(
            _ERROR,
            "A registered boundary does not call `parse_typed` with its label.",
            "Parse the payload here with parse_typed and the boundary's label written out.",
        ),
        "boundary-typed-helper": Rule(
            _ERROR,
            "A named helper is not there, or does not itself call `parse_typed`.",
            "Correct its name under helpers, or call parse_typed in it.",
        ),
        "boundary-typed-missing": Rule(
            _ERROR,
            "A registered boundary names a file or a function that is not there.",
            "Correct the row in the registry, or take it out.",
        ),
        "boundary-typed-reason": Rule(
            _ERROR,
            "An opt-out from `boundary-typed` gives no reason.",
            "Write why: # lint-allow: boundary-typed -- <reason>",
        ),
        "mcp-admin-guardrail": Rule(
            _ERROR,
            "`require_admin_guardrails` is not the first call of an admin tool's handler.",
            "Call require_admin_guardrails(arguments, actor) before anything else in this function.",
        ),
        "mcp-admin-guardrail-reason": Rule(
            _ERROR,
            "An opt-out from `mcp-admin-guardrail` gives no reason.",
            "Write why: # lint-allow: mcp-admin-guardrail -- <reason>",
        ),
        "mcp-admin-guardrail-unseen": Rule(
            _WARNING,
            "The handler of an admin tool cannot be found, so it is not judged.",
            "Name a function as its handler, or put it into a handler map of this file.",
        ),
        "source-unreadable": Rule(
            _ERROR,
            "A file cannot be read as Python.",
            "Correct the file, or leave it out.",
        ),
        "tool-annotations-invalid": Rule(
            _WARNING,
            "The annotations are not an object, or a hint in them is not a boolean.",
            "Write hints as true or false.",
        ),
        "tool-annotations-missing": Rule(
            _INFO,
            "A tool has no annotations, so clients must take it for a destructive one.",
            "Say readOnlyHint, or destructiveHint, true or false.",
        ),
        "tool-description-missing": Rule(
            _WARNING,
            "A tool has no description, and a model cannot tell when to use it.",
            "Say in a sentence what it does.",
        ),
        "tool-header": Rule(
            _ERROR,
            "An `x-mcp-header` breaks the protocol's rules, and HTTP clients must drop the whole tool.",
            "Put it on a string, integer or boolean under nothing but properties, with a header name of its own.",
        ),
        "tool-header-secret": Rule(
            _ERROR,
            "A parameter that looks like a secret is repeated in an HTTP header, which proxies log.",
            "Take x-mcp-header off this parameter.",
        ),
        "tool-input-root": Rule(
            _ERROR,
            "There is no input schema, or its root does not say `type: object`.",
            'Write "type": "object" at the root; a tool without parameters has no properties.',
        ),
        "tool-name": Rule(
            _WARNING,
            "A tool's name is not made of 1 to 128 of `A-Z a-z 0-9 _ . -`.",
            "Rename the tool.",
        ),
        "tool-name-case": Rule(
            _WARNING,
            "Two tools have names that differ only in upper and lower case.",
            "Rename one of them.",
        ),
        "tool-name-duplicate": Rule(
            _ERROR,
            "Two tools have the same name, and only one of them can be called.",
            "Rename one of them, or take it out.",
        ),
        "tool-open-object": Rule(
            _WARNING,
            "An object inside the input does not say whether it takes undeclared keys, and a misspelt one is lost.",
            'Say "additionalProperties": false, or true where any key is meant.',
        ),
        "tool-open-root": Rule(
            _INFO,
            "The input does not say whether undeclared arguments are accepted.",
            'Say "additionalProperties": false.',
        ),
        "tool-output-root": Rule(
            _WARNING,
            "The root of an output schema does not say `type: object`, and a 2025 client then fails the whole list.",
            "Wrap the result in an object.",
        ),
        "tool-parameter-description": Rule(
            _INFO,
            "Parameters have no description.",
            "Say in a few words what each one is.",
        ),
        "tool-read-only-contradiction": Rule(
            _ERROR,
            "A tool is annotated as read-only and as destructive.",
            "Keep the one that is true.",
        ),
        "tool-read-only-name": Rule(
            _WARNING,
            "A tool is annotated as read-only, and its name says that it removes something.",
            "Take readOnlyHint off, or rename the tool.",
        ),
        "tool-result-type": Rule(
            _ERROR,
            "No value of the handler's result type can meet the tool's output schema.",
            "Make the output schema and the result type agree.",
        ),
        "tool-schema-heavy": Rule(
            _INFO,
            "A schema is heavy or looks around in a pattern, so the gateway runs it in a process of its own.",
            "Make it smaller where that is easy: nested options and long patterns cost most.",
        ),
        "tool-schema-impossible": Rule(
            _ERROR,
            "No value can ever meet a schema.",
            "Correct what contradicts itself.",
        ),
        "tool-schema-reference": Rule(
            _ERROR,
            "A `$ref` leads out of the schema or nowhere; references are never fetched.",
            "Put what is meant under $defs, and refer to it there.",
        ),
        "tool-schema-uncompilable": Rule(
            _ERROR,
            "A schema cannot be compiled or is over a bound, so nothing can be judged by it.",
            "Correct the schema.",
        ),
        "tool-unreadable": Rule(
            _ERROR,
            "A tool definition, or a file of them, cannot be read.",
            'Give an object with a "name" and an "inputSchema" for each tool, in a tools/list result or a list.',
        ),
    }
)


def make_finding(rule_id: str, message: str, hint: str | None = None, **place: Unpack[FindingPlace]) -> Finding:
    """Builds a finding of a known id, with the level of its rule and, unless another is given, its hint."""
    rule = RULES[rule_id]
    return Finding(id=rule_id, level=rule.level, message=message, hint=rule.hint if hint is None else hint, **place)


def matching_ids(patterns: Iterable[str]) -> frozenset[str]:
    """The ids that match patterns such as `tool-name` or `tool-*`. Raises: KeyError, for a pattern without a match."""
    found: set[str] = set()
    for pattern in patterns:
        named = {rule_id for rule_id in RULES if fnmatchcase(rule_id, pattern)}
        if not named:
            raise KeyError(pattern)
        found |= named
    return frozenset(found)
