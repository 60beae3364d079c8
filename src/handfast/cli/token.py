"""`handfast token`: make, list, end and replace the tokens that callers of the gateway show."""

import argparse
import json
import re
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from handfast.cli.shared.console import CommandFailed, print_hint, render_table, run_command, terminal_width, write
from handfast.cli.shared.options import add_state_flag, utf8_text

if TYPE_CHECKING:  # at run time imported by the commands, so that --help stays fast
    from handfast.access.token_store import TokenEntry, TokenStore
    from handfast.core.access.scopes import Scope

_DAY = 86_400
_DAYS = 90
_LONGEST_DAYS = 3650
_UNITS = {"m": 60, "h": 3600, "d": _DAY}
_NAMED = "letters, digits and _ . @ + -, at most 128 of them"


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser("token", help="make, list, end and replace tokens for callers of the gateway")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    create = _command(commands, "create", _create, "a new token; prints its text, which is kept nowhere")
    create.add_argument("name", type=utf8_text, help="what the token is for: it stands in the list")
    create.add_argument("--for", dest="subject", metavar="WHO", help="who calls with it (default: its name)")
    create.add_argument(
        "--scopes",
        default="*",
        metavar="SCOPES",
        help='what it is good for, such as "contacts:read git/*"; * (default) is everything',
    )
    create.add_argument("--groups", default="", metavar="A,B", help="groups that access rules may name")
    create.add_argument("--expires", default=f"{_DAYS}d", metavar="TIME", help=f"30m, 12h or 90d (default: {_DAYS}d)")
    listing = _command(commands, "list", _list, "all tokens, the newest first")
    listing.add_argument("-o", "--output", choices=("table", "json"), default="table", help="table (default) or json")
    revoke = _command(commands, "revoke", _revoke, "end a token at once; a running gateway follows within two seconds")
    which = revoke.add_mutually_exclusive_group(required=True)
    which.add_argument("name", nargs="?", type=utf8_text, help="the token's name or id")
    which.add_argument("--all-for", metavar="WHO", help="end every token of this caller")
    rotate = _command(commands, "rotate", _rotate, "a new text for a token, whose old one ends; or a new signing key")
    which = rotate.add_mutually_exclusive_group(required=True)
    which.add_argument("name", nargs="?", type=utf8_text, help="the token's name or id")
    which.add_argument("--key", action="store_true", help="sign new tokens with a new key; old tokens stay good")


def _command(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    body: "Callable[[argparse.Namespace, TokenStore], int]",
    about: str,
) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=about, description=f"{about[:1].upper()}{about[1:]}.")
    add_state_flag(parser)
    parser.set_defaults(run=partial(_run, body))
    return parser


def _run(body: "Callable[[argparse.Namespace, TokenStore], int]", args: argparse.Namespace) -> int:
    def guarded() -> int:
        from handfast.activity.state_folder import state_folder
        from handfast.activity.store import StoreError

        try:
            from handfast.access.token_store import TokenStore
        except ImportError:
            from handfast.access.refused import NEEDS_EXTRA

            raise CommandFailed(NEEDS_EXTRA) from None
        try:
            return body(args, TokenStore(state_folder(args.state)))
        except StoreError as problem:
            raise CommandFailed(str(problem)) from None

    return run_command(guarded)


def _create(args: argparse.Namespace, store: "TokenStore") -> int:
    groups = [name for name in args.groups.split(",") if name]
    _issue(
        store,
        name=args.name,
        subject=args.subject or args.name,
        scopes=_read_scopes(args.scopes),
        groups=groups,
        seconds=_read_time(args.expires),
    )
    return 0


def _issue(
    store: "TokenStore",
    *,
    name: str,
    subject: str,
    scopes: "tuple[Scope, ...]",
    groups: list[str],
    seconds: float,
) -> None:
    from handfast.access.tokens import LONGEST_RIGHTS, NameTaken, is_name, issue_token

    for what, text in (("a token's name", name), ("a caller", subject), *(("a group", group) for group in groups)):
        if not is_name(text):
            raise CommandFailed(f"{what} has {_NAMED}.", 2)
    if len(" ".join([*map(str, scopes), *groups])) > LONGEST_RIGHTS:
        raise CommandFailed(
            f"scopes and groups have at most {LONGEST_RIGHTS} characters. Use patterns such as git/*.", 2
        )
    now = time.time()
    try:
        entry, text = issue_token(
            store, name=name, subject=subject, scopes=scopes, groups=groups, seconds=seconds, now=now
        )
    except NameTaken:
        raise CommandFailed(
            f"there is a token {name} already. Choose another name, or replace it: handfast token rotate {name}"
        ) from None
    try:
        write(text)
        sys.stdout.flush()
    except OSError as problem:
        store.revoke(entry.id, now)
        raise CommandFailed(f"the token could not be written ({problem.strerror}), so it was ended again.") from None
    print_hint(f"Token {name} for {subject}, good for {entry.scopes} until {_shown(entry.expires)}.")
    if sys.stdout.isatty():
        print_hint("This is the only time that it is shown. A client sends it as: Authorization: Bearer <token>")


def _list(args: argparse.Namespace, store: "TokenStore") -> int:
    entries, now = store.entries(), time.time()
    if args.output == "json":
        write(json.dumps([_as_json(each, now) for each in entries], indent=2))
        return 0
    rows = [
        (each.name, each.subject, each.state(now), each.scopes, each.groups, _shown(each.expires), each.id)
        for each in entries
    ]
    head = ("NAME", "FOR", "STATE", "SCOPES", "GROUPS", "EXPIRES", "ID")
    colours = {2: {"active": "green", "expired": "yellow", "revoked": "red"}}
    for line in render_table(head, rows, width=terminal_width(), colours=colours):
        write(line)
    if not rows:
        print_hint("There is no token yet. Make one with: handfast token create NAME")
    return 0


def _as_json(entry: "TokenEntry", now: float) -> dict[str, Any]:  # Any: JSON
    return {
        "name": entry.name,
        "subject": entry.subject,
        "state": entry.state(now),
        "scopes": entry.scopes.split(),
        "groups": entry.groups.split(),
        "created": _shown(entry.created),
        "expires": _shown(entry.expires),
        "revoked": None if entry.revoked is None else _shown(entry.revoked),
        "id": entry.id,
    }


def _revoke(args: argparse.Namespace, store: "TokenStore") -> int:
    now = time.time()
    if args.all_for is not None:
        ended = store.revoke_all(args.all_for, now)
        write(f"Revoked {len(ended)} token{'' if len(ended) == 1 else 's'} of {args.all_for}.")
        return 0 if ended else 1
    _end(store, args.name, now)
    write(f"Revoked {args.name}.")
    return 0


def _end(store: "TokenStore", name: str, now: float) -> "TokenEntry":
    """Raises: CommandFailed."""
    found = store.revoke(name, now)
    if found is None:
        raise CommandFailed(f"no token {name} is in force. See: handfast token list")
    return found


def _rotate(args: argparse.Namespace, store: "TokenStore") -> int:
    now = time.time()
    if args.key:
        key = store.replace_key(now)
        write(f"New tokens are signed with the key {key.id}. Those of the old key stay good until they end.")
        return 0
    old = _end(store, args.name, now)
    try:
        _replace(store, old)
    except CommandFailed:
        store.restore(old.id)
        raise
    return 0


def _replace(store: "TokenStore", old: "TokenEntry") -> None:
    """Raises: CommandFailed."""
    _issue(
        store,
        name=old.name,
        subject=old.subject,
        scopes=_read_scopes(old.scopes),
        groups=old.groups.split(),
        seconds=old.expires - old.created,
    )


def _read_scopes(text: str) -> "tuple[Scope, ...]":
    """Raises: CommandFailed."""
    from handfast.core.access.scopes import ScopeError, parse_scopes

    try:
        scopes = parse_scopes(text.replace(",", " "))
    except ScopeError as problem:
        raise CommandFailed(str(problem), 2) from None
    if not scopes:
        raise CommandFailed("a token without scopes is good for nothing. Name some, or * for everything.", 2)
    return scopes


def _read_time(text: str) -> float:
    """Raises: CommandFailed."""
    found = re.fullmatch(r"([0-9]{1,6})([mhd])", text)
    seconds = int(found[1]) * _UNITS[found[2]] if found else 0
    if not 0 < seconds <= _LONGEST_DAYS * _DAY:
        raise CommandFailed(f"--expires takes a time such as 30m, 12h or 90d, at most {_LONGEST_DAYS}d.", 2)
    return seconds


def _shown(time_s: float) -> str:
    return datetime.fromtimestamp(time_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
