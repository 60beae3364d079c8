"""Rules for a call's arguments: an object, flat, declared, and valid against the tool's input schema."""

from collections.abc import Iterable, Mapping

from handfast.core.bounds import MOST_MEMBERS, MOST_OFFENDERS, MOST_VALUES
from handfast.core.call import rules
from handfast.core.call.field_lists import declared_line, last_name, quoted_names
from handfast.core.call.policy import InputPolicy, Mode, UnknownArguments, Violation
from handfast.core.call.strict_json import Ambiguity, Ambiguous
from handfast.core.call.wrappers import find_nested_wrappers, nested_wrapper_message, object_meant
from handfast.core.schema.declared import Declared
from handfast.core.words.nearest import nearest
from handfast.core.words.printable import fold_name
from handfast.core.words.redaction import scrub_name
from handfast.core.words.wording import Fact, pointer_of

# A body that is one list under one of these keys is a bulk call, by convention of the REST frameworks.
LIST_BODY_KEYS = frozenset({"objects", "data", "items", "_items", "body"})

MOST_TOLD_TWICE = 20  # declared fields: more would fill two lists, neither of them whole

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


def unknown_message(names: list[str], declared: Declared, sent: Iterable[str] = ()) -> str:
    """`sent` are all names of the call: what was sent was not misspelt, and the rest may be missing."""
    taken = frozenset(sent)
    free = [name for name in declared.names if name not in taken]
    meant = {name: found[0] for name in names[:MOST_OFFENDERS] if (found := nearest(last_name(name), free))}
    lacking = [name for name in declared.required if name not in taken and name not in meant.values()]
    also = f" Also required: {quoted_names(lacking)}." if lacking else ""
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
    offenders = _almost_declared(arguments, declared, ignore)
    if not offenders:
        return None
    lines = [_almost_line(*offender) for offender in offenders[:MOST_OFFENDERS]]
    if len(offenders) > MOST_OFFENDERS:
        lines.append(f"So are {len(offenders) - MOST_OFFENDERS} more.")
    advice = "A tool may take one for the other: send each field once, by its exact name, and call again."
    return "\n".join([*lines, advice, declared_line(declared)])


def _almost_declared(
    arguments: Mapping[str, object], declared: Declared, ignore: frozenset[str]
) -> list[tuple[str, str, bool]]:
    """Of each such name: the name, what it is mistaken for, and whether that is declared."""
    sent: dict[str, str] = {}
    offenders: list[tuple[str, str, bool]] = []
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
    return offenders


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
        return Violation(rules.ARGUMENTS_NESTED_WRAPPER, wrapped, _wrapper_facts(offenders, declared, arguments))
    almost = almost_declared_message(arguments, declared, policy.ignore)
    if almost is not None:
        return Violation(rules.ARGUMENTS_UNKNOWN, almost, _almost_facts(arguments, declared, policy.ignore))
    if policy.unknown_arguments is not UnknownArguments.REJECT_ALL:
        return None
    unknown = [
        key for key in arguments if key not in declared.known and key not in policy.ignore and not declared.is_open(key)
    ]
    if not unknown:
        return None
    facts = _facts(unknown, declared, arguments)
    return Violation(rules.ARGUMENTS_UNKNOWN, unknown_message(unknown, declared, arguments), facts)


def _facts(names: list[str], declared: Declared, sent: Mapping[str, object]) -> tuple[Fact, ...]:
    free = [name for name in declared.names if name not in sent]
    near = {name: "".join(nearest(name, free)) for name in names[:MOST_OFFENDERS]}
    return tuple(_fact(name, declared, "unknown", near[name]) for name in near)


def _almost_facts(arguments: Mapping[str, object], declared: Declared, ignore: frozenset[str]) -> tuple[Fact, ...]:
    offenders = _almost_declared(arguments, declared, ignore)[:MOST_OFFENDERS]
    return tuple(_fact(key, declared, "unknown", scrub_name(twin)) for key, twin, _is_declared in offenders)


def _wrapper_facts(names: list[str], declared: Declared, sent: Mapping[str, object]) -> tuple[Fact, ...]:
    """The nearest is the one that the text names."""
    objects = {name: inner for name in names[:MOST_OFFENDERS] if isinstance(inner := sent[name], dict)}
    meant = {name: object_meant(name, inner, declared, sent.keys()) for name, inner in objects.items()}
    return tuple(_fact(name, declared, "wrapper", meant[name]) for name in meant)


def _fact(name: str, declared: Declared, rule: str, near: str) -> Fact:
    return Fact(pointer_of((name,), declared.known, show_names=True), rule, nearest=near)


def schema_violation(
    words: tuple[str, ...], *, declared: Declared, mode: Mode, facts: tuple[Fact, ...] = ()
) -> Violation:
    """The violation for arguments that do not meet the schema; in strict mode it also lists the declared fields."""
    what = "; ".join(words) if words else "they do not meet the tool's input schema"
    text = f"The arguments do not fit what the tool declares: {what}. Correct them and call again."
    if mode is Mode.STRICT and not (len(declared.names) > MOST_TOLD_TWICE and any(map(_lists_names, words))):
        text = f"{text}\n{declared_line(declared)}"
    return Violation(rules.ARGUMENTS_SCHEMA, text, facts)


def _lists_names(word: str) -> bool:
    """Whether a violation at the root lists the names that are allowed there."""
    return word.startswith("has ") and ", allowed: " in word


def unreadable_violation(problem: Ambiguous) -> Violation:
    """The violation for arguments that two parsers could read differently, or that exceed a bound."""
    if problem.reason is Ambiguity.TOO_MANY:
        text = f"The arguments hold more than {MOST_VALUES} values. Send fewer at a time and call again."
        return Violation(rules.ARGUMENTS_BOUNDS, text)
    text = f"The arguments are ambiguous: {problem}. Send plain JSON and call again."
    return Violation(rules.ARGUMENTS_AMBIGUOUS, text)
