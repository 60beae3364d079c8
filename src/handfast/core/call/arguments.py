"""Rules for a call's arguments: an object, flat, declared, and valid against the tool's input schema."""

import json
from collections.abc import Mapping

from handfast.core.bounds import MOST_MEMBERS, MOST_OFFENDERS, MOST_VALUES
from handfast.core.call import rules
from handfast.core.call.policy import InputPolicy, Mode, UnknownArguments, Violation
from handfast.core.call.strict_json import Ambiguity, Ambiguous
from handfast.core.schema.declared import Declared
from handfast.core.words.printable import fold_name
from handfast.core.words.redaction import scrub_name, scrub_names

# A body that is one list under one of these keys is a bulk call, by convention of the REST frameworks.
LIST_BODY_KEYS = frozenset({"objects", "data", "items", "_items", "body"})

TOO_MANY = Violation(
    rules.ARGUMENTS_BOUNDS,
    f"The arguments have more than {MOST_MEMBERS} fields. Send fewer at a time and call again.",
)


def is_list_body(arguments: Mapping[str, object]) -> bool:
    """Whether there is exactly one argument, under a bulk key, whose value is a list."""
    if len(arguments) != 1:
        return False
    ((key, value),) = arguments.items()
    return key in LIST_BODY_KEYS and isinstance(value, list)


def find_nested_wrappers(arguments: Mapping[str, object], declared: Declared, ignore: frozenset[str]) -> list[str]:
    """The undeclared arguments whose value is an object, in call order; the key's name does not matter."""
    return [
        key
        for key, value in arguments.items()
        if isinstance(value, dict) and key not in declared.known and key not in ignore and not declared.is_open(key)
    ]


def nested_wrapper_message(
    arguments: Mapping[str, object], declared: Declared, ignore: frozenset[str] = frozenset()
) -> str | None:
    """The text that tells an agent how to repair a wrapped call without another tools/list, or None."""
    offenders = find_nested_wrappers(arguments, declared, ignore)
    if not offenders:
        return None
    shown = offenders[:MOST_OFFENDERS]
    lines = [f"Argument '{scrub_name(key)}' is not a declared field and its value is a nested object." for key in shown]
    if len(offenders) > len(shown):
        lines.append(f"So are {len(offenders) - len(shown)} more.")
    lines.append("Likely cause: REST-style wrapper — send fields flat at the top level.")
    for key in shown:
        inner = arguments[key]
        lines.append(_unwrap_line(scrub_name(key), inner if isinstance(inner, dict) else {}))
    lines.append(declared_line(declared))
    return "\n".join(lines)


def _unwrap_line(key: str, inner: Mapping[str, object]) -> str:
    if not inner:
        return f"Remove '{key}': it is empty."
    return f"Unwrap '{key}': send {_quoted(scrub_names(inner))} directly, not inside \"{key}\"."


def declared_line(declared: Declared) -> str:
    return f"Declared fields: [{_quoted(scrub_names(declared.names))}]."


def _quoted(names: list[str]) -> str:
    # The mark of a shortened list is a literal ..., not a field name.
    return ", ".join(name if name == "..." else json.dumps(name, ensure_ascii=False) for name in names)


def unknown_message(names: list[str], declared: Declared) -> str:
    shown = [f"'{scrub_name(name)}'" for name in names[:MOST_OFFENDERS]]
    if len(names) == 1:
        return f"Argument {shown[0]} is not a declared field. Remove it and call again.\n{declared_line(declared)}"
    more = f" and {len(names) - MOST_OFFENDERS} more" if len(names) > MOST_OFFENDERS else ""
    listed = f"{', '.join(shown)}{more}"
    return f"Arguments {listed} are not declared fields. Remove them and call again.\n{declared_line(declared)}"


def almost_declared_message(
    arguments: Mapping[str, object], declared: Declared, ignore: frozenset[str] = frozenset()
) -> str | None:
    """The text about undeclared names that a lax parser takes for a declared name or another one sent, or None."""
    sent: dict[str, str] = {}
    offenders: list[tuple[str, str, bool]] = []  # the name, what it is mistaken for, and whether that is declared
    for key in arguments:
        folded = fold_name(key)
        twin = sent.setdefault(folded, key)
        if key in declared.known or key in ignore:
            continue
        known = declared.folded.get(folded)
        if known is not None:
            offenders.append((key, known, True))
        elif twin is not key:
            offenders.append((key, twin, False))
    if not offenders:
        return None
    lines = [_almost_line(*offender) for offender in offenders[:MOST_OFFENDERS]]
    if len(offenders) > MOST_OFFENDERS:
        lines.append(f"So are {len(offenders) - MOST_OFFENDERS} more.")
    advice = "A tool may take one for the other: send each field once, by its exact name, and call again."
    return "\n".join([*lines, advice, declared_line(declared)])


def _almost_line(key: str, twin: str, is_declared: bool) -> str:
    if is_declared:
        return f"Argument '{scrub_name(key)}' is spelled almost like the declared field '{scrub_name(twin)}'."
    return f"Arguments '{scrub_name(twin)}' and '{scrub_name(key)}' differ only in case or blanks."


def check_unknown(arguments: Mapping[str, object], declared: Declared, policy: InputPolicy) -> Violation | None:
    """The violation for arguments that `unknown_arguments` refuses, in warn and strict alike, or None."""
    if policy.unknown_arguments is UnknownArguments.SCHEMA or arguments.keys() <= declared.known:
        return None
    wrapped = nested_wrapper_message(arguments, declared, policy.ignore)
    if wrapped is not None:
        return Violation(rules.ARGUMENTS_NESTED_WRAPPER, wrapped)
    almost = almost_declared_message(arguments, declared, policy.ignore)
    if almost is not None:
        return Violation(rules.ARGUMENTS_UNKNOWN, almost)
    if policy.unknown_arguments is not UnknownArguments.REJECT_ALL:
        return None
    unknown = [
        key for key in arguments if key not in declared.known and key not in policy.ignore and not declared.is_open(key)
    ]
    return Violation(rules.ARGUMENTS_UNKNOWN, unknown_message(unknown, declared)) if unknown else None


def schema_violation(words: tuple[str, ...], *, declared: Declared, mode: Mode) -> Violation:
    """The violation for arguments that do not meet the schema; in strict mode it also lists the declared fields."""
    what = "; ".join(words) if words else "they do not meet the tool's input schema"
    text = f"The arguments do not fit what the tool declares: {what}. Correct them and call again."
    if mode is Mode.STRICT:
        text = f"{text}\n{declared_line(declared)}"
    return Violation(rules.ARGUMENTS_SCHEMA, text)


def unreadable_violation(problem: Ambiguous) -> Violation:
    """The violation for arguments that two parsers could read differently, or that exceed a bound."""
    if problem.reason is Ambiguity.TOO_MANY:
        text = f"The arguments hold more than {MOST_VALUES} values. Send fewer at a time and call again."
        return Violation(rules.ARGUMENTS_BOUNDS, text)
    text = f"The arguments are ambiguous: {problem}. Send plain JSON and call again."
    return Violation(rules.ARGUMENTS_AMBIGUOUS, text)
