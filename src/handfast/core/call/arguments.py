"""Rules for a call's arguments: an object, flat, declared, and valid against the tool's input schema."""

import json
from collections.abc import Iterable, Mapping

from handfast.core.bounds import MOST_MEMBERS, MOST_OFFENDERS, MOST_VALUES
from handfast.core.call import rules
from handfast.core.call.policy import InputPolicy, Mode, UnknownArguments, Violation
from handfast.core.call.strict_json import Ambiguity, Ambiguous
from handfast.core.schema.declared import Declared
from handfast.core.words.nearest import nearest
from handfast.core.words.printable import fold_name
from handfast.core.words.redaction import scrub_name, scrub_names
from handfast.core.words.wording import Fact, pointer_of

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
    arguments: Mapping[str, object],
    declared: Declared,
    ignore: frozenset[str] = frozenset(),
    *,
    inside: str = "",
) -> str | None:
    """The text that tells an agent how to repair a wrapped call without another tools/list, or None.

    `inside` is the field that the declared ones belong in, where that is not the top level.
    """
    offenders = find_nested_wrappers(arguments, declared, ignore)
    if not offenders:
        return None
    shown = offenders[:MOST_OFFENDERS]
    lines = [f"Argument '{scrub_name(key)}' is not a declared field and its value is a nested object." for key in shown]
    if len(offenders) > len(shown):
        lines.append(f"So are {len(offenders) - len(shown)} more.")
    where = f'inside "{inside}"' if inside else "flat at the top level"
    lines.append(f"Likely cause: REST-style wrapper — send fields {where}.")
    free = [name for name in declared.objects if name not in arguments]
    for key in shown:
        inner = arguments[key]
        lines.append(_unwrap_line(key, inner if isinstance(inner, dict) else {}, declared, free, inside))
    lines.append(declared_line(declared))
    return "\n".join(lines)


def _unwrap_line(key: str, inner: Mapping[str, object], declared: Declared, free: list[str], inside: str) -> str:
    """Unwrapping helps where the tool knows what is inside; else an object may have been meant for another field."""
    name = scrub_name(key)
    if not inner:
        return f"Remove '{name}': it is empty."
    if not inner.keys().isdisjoint(declared.known):
        where = f'inside "{inside}"' if inside else "directly"
        return f"Unwrap '{name}': send {_quoted(scrub_names(inner))} {where}, not inside \"{name}\"."
    if meant := nearest(_last(key), free) or free[:1]:
        return f"Did you mean '{scrub_name(meant[0])}'? It is declared and takes an object; '{name}' is not."
    return f"Remove '{name}': none of its fields is declared."


def _last(name: str) -> str:
    """Of a name with its place, such as `lines[0].sku`, the name."""
    return name.rpartition(".")[2]


def declared_line(declared: Declared) -> str:
    return f"Declared fields: [{_quoted(scrub_names(declared.names))}]."


def _quoted(names: list[str]) -> str:
    # The mark of a shortened list is a literal ..., not a field name.
    return ", ".join(name if name == "..." else json.dumps(name, ensure_ascii=False) for name in names)


def unknown_message(names: list[str], declared: Declared, sent: Iterable[str] = ()) -> str:
    """`sent` are all names of the call: what was sent was not misspelt, and the rest may be missing."""
    taken = frozenset(sent)
    free = [name for name in declared.names if name not in taken]
    meant = {name: found[0] for name in names[:MOST_OFFENDERS] if (found := nearest(_last(name), free))}
    lacking = [name for name in declared.required if name not in taken and name not in meant.values()]
    also = f" Also required: {_quoted(scrub_names(lacking))}." if lacking else ""
    return f"{_not_declared(names, meant)} and call again.{also}\n{declared_line(declared)}"


def _not_declared(names: list[str], meant: Mapping[str, str]) -> str:
    shown = [f"'{scrub_name(name)}'" for name in names[:MOST_OFFENDERS]]
    if len(names) == 1:
        if meant:
            return (
                f"Argument {shown[0]} is not a declared field. Did you mean '{scrub_name(meant[names[0]])}'? Rename it"
            )
        return f"Argument {shown[0]} is not a declared field. Remove it"
    more = f" and {len(names) - MOST_OFFENDERS} more" if len(names) > MOST_OFFENDERS else ""
    pairs = ", ".join(f"'{scrub_name(near)}' for '{scrub_name(name)}'" for name, near in meant.items())
    advice = f"Did you mean {pairs}? Rename or remove them" if pairs else "Remove them"
    return f"Arguments {', '.join(shown)}{more} are not declared fields. {advice}"


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
        offenders = find_nested_wrappers(arguments, declared, policy.ignore)
        return Violation(rules.ARGUMENTS_NESTED_WRAPPER, wrapped, _facts(offenders, declared, arguments, "wrapper"))
    almost = almost_declared_message(arguments, declared, policy.ignore)
    if almost is not None:
        return Violation(rules.ARGUMENTS_UNKNOWN, almost)
    if policy.unknown_arguments is not UnknownArguments.REJECT_ALL:
        return None
    unknown = [
        key for key in arguments if key not in declared.known and key not in policy.ignore and not declared.is_open(key)
    ]
    if not unknown:
        return None
    facts = _facts(unknown, declared, arguments, "unknown")
    return Violation(rules.ARGUMENTS_UNKNOWN, unknown_message(unknown, declared, arguments), facts)


def _facts(names: list[str], declared: Declared, sent: Mapping[str, object], rule: str) -> tuple[Fact, ...]:
    free = [name for name in declared.names if name not in sent]
    near = {name: "".join(nearest(name, free)) for name in names[:MOST_OFFENDERS]}
    return tuple(Fact(pointer_of((name,), declared.known, show_names=True), rule, nearest=near[name]) for name in near)


def schema_violation(
    words: tuple[str, ...], *, declared: Declared, mode: Mode, facts: tuple[Fact, ...] = ()
) -> Violation:
    """The violation for arguments that do not meet the schema; in strict mode it also lists the declared fields."""
    what = "; ".join(words) if words else "they do not meet the tool's input schema"
    text = f"The arguments do not fit what the tool declares: {what}. Correct them and call again."
    if mode is Mode.STRICT:
        text = f"{text}\n{declared_line(declared)}"
    return Violation(rules.ARGUMENTS_SCHEMA, text, facts)


def unreadable_violation(problem: Ambiguous) -> Violation:
    """The violation for arguments that two parsers could read differently, or that exceed a bound."""
    if problem.reason is Ambiguity.TOO_MANY:
        text = f"The arguments hold more than {MOST_VALUES} values. Send fewer at a time and call again."
        return Violation(rules.ARGUMENTS_BOUNDS, text)
    text = f"The arguments are ambiguous: {problem}. Send plain JSON and call again."
    return Violation(rules.ARGUMENTS_AMBIGUOUS, text)
