"""The `handfast` command: one file per subcommand, imported only when it is the one that runs."""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from handfast import __version__
from handfast.core.words.printable import escape

COMMANDS = ("wrap", "serve", "call", "tools", "servers", "token", "activity", "config", "lint", "completion")

_EPILOG = """\
exit codes: 0 fine; 1 something failed or was found; 2 wrong usage. `wrap` exits with the code of the command it wraps,
or 127 when that cannot be started.

Try it:  handfast wrap -- npx -y @modelcontextprotocol/server-memory
"""


class _Parser(argparse.ArgumentParser):
    """Reports wrong usage in one line that says where to look; subcommands inherit this."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"handfast: {escape(message)}; see: {self.prog} --help\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; its exit code."""
    given, command = _split_command(list(sys.argv[1:] if argv is None else argv))
    parser = build_parser(given)
    args, rest = parser.parse_known_args(given)
    if rest and (rest[0].startswith("-") or not hasattr(args, "arguments")):
        if given[0] in COMMANDS:
            parser.prog = f"handfast {given[0]}"
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    if rest:
        args.arguments += rest  # argparse stops collecting name=value pairs at the first flag between them
    if not hasattr(args, "run"):
        parser.print_help()
        return 2
    if command is not None:
        args.command = command
    code: int = args.run(args)
    return code


def _split_command(given: list[str]) -> tuple[list[str], list[str] | None]:
    """Splits off the server's command after `--` of `lint`, whose paths argparse would mix with it."""
    if given[:1] != ["lint"] or "--" not in given:
        return given, None
    place = given.index("--")
    return given[:place], given[place + 1 :]


def build_parser(given: Sequence[str] = ()) -> argparse.ArgumentParser:
    """The definitions of the command that is given, or of all."""
    parser = _Parser(
        prog="handfast",
        description="A firm contract between agents and their tools.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"handfast {__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND")
    # `wrap` starts with every session of every client, so it does not pay for the other commands.
    wanted = [given[0]] if given and given[0] in COMMANDS else COMMANDS
    for name in wanted:
        import_module(f"handfast.cli.{name}").add_parser(subparsers)
    return parser


if __name__ == "__main__":
    sys.exit(main())
