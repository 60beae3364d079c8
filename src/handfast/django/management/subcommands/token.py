"""`manage.py handfast token`: issue, list and revoke the tokens of agents."""

import argparse
import json
from datetime import timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone


def add_parser(commands: "argparse._SubParsersAction[Any]") -> None:  # Any: a parser
    parser = commands.add_parser("token", help="issue, list and revoke tokens for agents")
    actions = parser.add_subparsers(title="actions", metavar="ACTION", parser_class=type(parser), required=True)
    issue = actions.add_parser("issue", help="make a token that acts for a user; its text is shown once")
    issue.add_argument("user", metavar="USER", help="the name of the user for whom it acts")
    issue.add_argument("--name", required=True, help="what records call it; no other token has it")
    issue.add_argument("--scopes", default="*", help="what it is good for (default: all that the user may)")
    issue.add_argument("--days", type=int, help="how long it is good (default: until it is revoked)")
    issue.set_defaults(run=_issue)
    listed = actions.add_parser("list", help="show every token, without its text")
    listed.add_argument("--json", action="store_true", help="for programs")
    listed.set_defaults(run=_list)
    revoke = actions.add_parser("revoke", help="do not accept it any more")
    revoke.add_argument("name", metavar="NAME")
    revoke.set_defaults(run=_revoke)


def _issue(command: BaseCommand, options: dict[str, Any]) -> None:  # Any: what argparse read
    """Raises: CommandError."""
    from django.contrib.auth import get_user_model

    from handfast.django.access import issue

    users = get_user_model()
    try:
        user = users._default_manager.get_by_natural_key(options["user"])  # type: ignore[attr-defined]  # a manager of users has it
    except users.DoesNotExist:
        raise CommandError("There is no such user. Make one with manage.py createsuperuser, or in the admin.") from None
    days = options["days"]
    if days is not None and not 0 < days <= 36_500:
        raise CommandError("--days must be a number from 1 to 36500.")
    expires = None if days is None else timezone.now() + timedelta(days=days)
    try:
        token, text = issue(user, name=options["name"], scopes=options["scopes"], expires=expires)
    except ValidationError as problem:
        raise CommandError(" ".join(problem.messages)) from None
    command.stdout.write(text)
    command.stderr.write(f"{token} acts for {user}. Its text is shown now and never again.", lambda said: said)


def _list(command: BaseCommand, options: dict[str, Any]) -> None:  # Any: as above
    from handfast.django.models import AgentToken

    tokens = AgentToken.objects.select_related("user").order_by("name")
    rows = [
        {
            "name": token.name,
            "prefix": token.prefix,
            "user": str(token.user),
            "scopes": token.scopes,
            "state": "revoked" if token.revoked else "expired" if token.is_expired else "good",
            "expires": token.expires.isoformat(timespec="seconds") if token.expires else None,
            "last_used": token.last_used.isoformat(timespec="seconds") if token.last_used else None,
        }
        for token in tokens
    ]
    if options["json"]:
        command.stdout.write(json.dumps(rows, indent=2, ensure_ascii=False))
    elif rows:
        head = [key.replace("_", " ") for key in rows[0]]
        cells = [head, *([str(value) if value is not None else "-" for value in row.values()] for row in rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in cells]
        command.stdout.write("\n".join([command.style.MIGRATE_HEADING(lines[0]), *lines[1:]]))
    else:
        command.stdout.write("No tokens. Make one: manage.py handfast token issue USER --name NAME")


def _revoke(command: BaseCommand, options: dict[str, Any]) -> None:  # Any: as above
    """Raises: CommandError."""
    from handfast.django.access import revoke
    from handfast.django.models import AgentToken

    token = AgentToken.objects.filter(name=options["name"]).first()
    if token is None:
        raise CommandError("There is no token of that name. See: manage.py handfast token list")
    if token.revoked is not None:
        command.stdout.write(f"{token} was revoked before.")
        return
    revoke(token)
    command.stdout.write(f"{token} is revoked.")
