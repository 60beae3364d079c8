"""`manage.py handfast`: what agents see of this project, how a client connects, and what wrapped calls left behind."""

import argparse
import os
import sys
from functools import partial
from typing import Any, Final, NoReturn

from django.core.management.base import BaseCommand, CommandError, CommandParser

from handfast.django.management.subcommands import client_config, doctor, empty_rows, token

# Flags of every command of Django, which users also write after the subcommand.
_EVERYWHERE: Final[tuple[tuple[str, dict[str, Any]], ...]] = (  # Any: whatever argparse takes
    ("--settings", {}),
    ("--pythonpath", {}),
    ("--traceback", {"action": "store_true"}),
    ("--no-color", {"action": "store_true"}),
    ("--force-color", {"action": "store_true"}),
    ("--verbosity", {"type": int, "choices": (0, 1, 2, 3)}),
)


def refuse(parser: CommandParser, message: str) -> NoReturn:
    """Reports wrong usage in one line that says where to look."""
    if not parser.called_from_command_line:
        raise CommandError(message)
    parser.exit(2, f"{parser.prog}: {message}; see: {parser.prog} --help\n")


class OneLineParser(CommandParser):
    """The parser of a subcommand."""

    def __init__(self, **kwargs: Any) -> None:  # Any: as argparse calls it
        super().__init__(**kwargs)
        for flag, how in _EVERYWHERE:
            self.add_argument(flag, **how, default=argparse.SUPPRESS, help=argparse.SUPPRESS)

    def error(self, message: str) -> NoReturn:
        refuse(self, message)


class Command(BaseCommand):
    help = "Tools for agents out of this project's REST API: look at them, connect a client, clean up."
    # The doctor reports what the checks would, and is needed most where a project has an error.
    requires_system_checks = ()

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:  # Any: as Django has it
        parser = super().create_parser(prog_name, subcommand, **kwargs)
        setattr(parser, "error", partial(refuse, parser))  # noqa: B010 - Django makes this parser itself
        return parser

    def add_arguments(self, parser: CommandParser) -> None:
        commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=OneLineParser)
        for module in (doctor, client_config, token, empty_rows):
            module.add_parser(commands)

    def handle(self, *_: Any, **options: Any) -> None:  # Any: as Django has it
        run = options.pop("run", None)
        if run is None:
            self.create_parser(os.path.basename(sys.argv[0]), "handfast").print_help(self.stdout)
            return
        run(self, options)
