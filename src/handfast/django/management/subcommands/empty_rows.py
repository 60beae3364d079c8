"""`manage.py handfast empty-rows`: finds rows that wrapped calls left behind, and deletes those confirmed."""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError
from django.utils.dateparse import parse_date, parse_datetime

if TYPE_CHECKING:
    from handfast.django.empty_rows.emptiness import Emptiness, Unsearchable
    from handfast.django.empty_rows.removal import Confirmed, Removed
    from handfast.django.empty_rows.search import Found

_SHOWN = 100  # rows of a model: as many as a person may look through before saying yes
Options = dict[str, Any]  # Any: what argparse read


def add_parser(commands: "argparse._SubParsersAction[Any]") -> None:  # Any: a parser
    parser = commands.add_parser(
        "empty-rows",
        help="find rows that wrapped calls left empty, and delete those confirmed",
        description="Find the rows in which every field that a create tool can write is at its default, blank or null."
        " Without --delete nothing is changed. With it each row is named and asked for.",
    )
    parser.add_argument("--model", action="append", metavar="APP.MODEL", help="only this one; may be repeated")
    parser.add_argument("--since", type=moment, metavar="DATE", help="only rows made since, such as 2026-03-01")
    parser.add_argument("--limit", type=int, default=_SHOWN, help=f"of a model (default: {_SHOWN}; 0: all)")
    parser.add_argument("--delete", action="store_true", help="delete the rows that are confirmed")
    parser.add_argument("--pk", action="append", metavar="KEY", help="only this row of one --model; may be repeated")
    parser.add_argument("--yes", action="store_true", help="do not ask; only for rows that --pk names")
    parser.add_argument("--cascade", action="store_true", help="also rows that others point at, with those others")
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.set_defaults(run=run)


def moment(text: str) -> date:
    try:
        found = parse_date(text) or parse_datetime(text)
    except ValueError:
        found = None
    if found is None:
        raise argparse.ArgumentTypeError("write a date such as 2026-03-01 or 2026-03-01T12:00")
    return found


def run(command: BaseCommand, options: Options) -> None:
    """Raises: CommandError."""
    from handfast.django.empty_rows.removal import RemovalRefused

    _refuse_contradictions(options)
    try:
        _run(command, options)
    except (ImproperlyConfigured, RemovalRefused) as problem:
        raise CommandError(str(problem)) from None
    except DatabaseError as problem:
        said = str(problem).partition("\n")[0]
        raise CommandError(f"The database refused: {said}. Is it migrated? See: manage.py migrate") from None


def _refuse_contradictions(options: Options) -> None:
    if options["pk"] and len(options["model"] or ()) != 1:
        raise CommandError("--pk needs the one --model whose rows it names.")
    if options["yes"] and not options["pk"]:
        raise CommandError("--yes deletes only rows that are named: add --model APP.MODEL and --pk KEY for each.")
    if not options["delete"] and (options["yes"] or options["cascade"]):
        raise CommandError("--yes and --cascade are about deleting: add --delete.")
    if options["limit"] < 0:
        raise CommandError("--limit is a number of rows, or 0 for all of them.")
    if options["delete"] and not options["yes"] and not sys.stdin.isatty():
        raise CommandError("Nobody can be asked here. Name the rows: --delete --yes --model APP.MODEL --pk KEY")


def _run(command: BaseCommand, options: Options) -> None:
    from handfast.django.empty_rows.emptiness import Emptiness, Unsearchable
    from handfast.django.empty_rows.report import as_json, removal_report, report_rows

    rules = _chosen(options["model"])
    searched = [rule for rule in rules if isinstance(rule, Emptiness)]
    found, undated = _search(searched, options)
    left_out = [*(rule for rule in rules if isinstance(rule, Unsearchable)), *undated]
    if not options["json"]:
        for line in report_rows(found, left_out):
            command.stdout.write(line)
    removed = _delete(command, found, options) if options["delete"] else None
    if options["json"]:
        from django.core.serializers.json import DjangoJSONEncoder

        written = as_json(found, left_out, removed)
        command.stdout.write(json.dumps(written, indent=2, ensure_ascii=False, cls=DjangoJSONEncoder))
    elif removed is not None:
        for line in removal_report(removed):
            command.stdout.write(line)


def _chosen(labels: Sequence[str] | None) -> "list[Emptiness | Unsearchable]":
    from handfast.django.discovery import discover
    from handfast.django.empty_rows.emptiness import emptiness_by_model

    rules = emptiness_by_model(discover())
    if labels is None:
        return rules
    by_label = {rule.label.lower(): rule for rule in rules}
    unknown = [label for label in labels if label.lower() not in by_label]
    if unknown:
        known = ", ".join(rule.label for rule in rules) or "none"
        raise CommandError(f"No create tool writes {', '.join(unknown)}. Those that are written: {known}.")
    return list({label.lower(): by_label[label.lower()] for label in labels}.values())


def _search(rules: "list[Emptiness]", options: Options) -> "tuple[list[Found], list[Unsearchable]]":
    from handfast.django.empty_rows.emptiness import Unsearchable
    from handfast.django.empty_rows.search import created_column, find_empty_rows

    found, undated = [], []
    for rule in rules:
        if options["since"] is not None and created_column(rule.model) is None:
            undated.append(Unsearchable(rule.model, rule.tools, "no column says when a row was made"))
            continue
        pks = None if options["pk"] is None else [_key(rule, text) for text in options["pk"]]
        limit = None if pks is not None or options["limit"] == 0 else options["limit"]
        found.append(find_empty_rows(rule, since=options["since"], pks=pks, limit=limit))
    return found, undated


def _key(rule: "Emptiness", text: str) -> Any:  # Any: of whatever type the model's key is
    try:
        return rule.model._meta.pk.to_python(text)
    except ValidationError:
        raise CommandError(f"--pk {text}: no key of {rule.label} looks like this.") from None


def _delete(command: BaseCommand, found: "list[Found]", options: Options) -> "Removed | None":
    from handfast.django.empty_rows.removal import remove_rows

    confirmed = _named(found, options) if options["yes"] else _asked(command, found, options)
    if not confirmed:
        command.stderr.write("Nothing was deleted.", lambda text: text)
        return None
    return remove_rows(confirmed, cascade=options["cascade"])


def _named(found: "list[Found]", options: Options) -> "Confirmed":
    """The rows that --pk names, all of them or none."""
    if not found:
        raise CommandError("None of these rows is known to be empty. Nothing was deleted.")
    (one,) = found
    wanted = list(dict.fromkeys(_key(one.emptiness, text) for text in options["pk"]))
    full = [str(pk) for pk in wanted if pk not in {row.pk for row in one.rows}]
    if full:
        raise CommandError(f"{one.emptiness.label} {', '.join(full)}: not an empty row. Nothing was deleted.")
    return [(one.emptiness, wanted)]


def _asked(command: BaseCommand, found: "list[Found]", options: Options) -> "Confirmed":
    from handfast.django.empty_rows.removal import confirm_rows

    def say(text: str, ending: str = "\n") -> None:
        # Not to stdout, which a program may be reading.
        command.stderr.write(text, lambda plain: plain, ending)
        command.stderr.flush()

    def ask(question: str) -> str:
        say(question, "")
        return sys.stdin.readline()

    for one in found:
        _say_what_else(one, say, cascade=options["cascade"])
    return confirm_rows(found, ask, cascade=options["cascade"])


def _say_what_else(found: "Found", say: Callable[..., None], *, cascade: bool) -> None:
    """Says which rows stay because others point at them, or which others would be deleted with them."""
    from handfast.django.empty_rows.removal import going_along

    label = found.emptiness.label
    pointed = [row.pk for row in found.rows if row.pointing]
    if pointed and not cascade:
        keys = ", ".join(map(str, pointed))
        say(f"Left alone, as other rows point at them (see --cascade): {label} {keys}")
    elif pointed:
        along = ", ".join(f"{count} of {other}" for other, count in going_along(found.emptiness, pointed).items())
        say(f"With rows of {label} would go: {along or 'no others'}")
