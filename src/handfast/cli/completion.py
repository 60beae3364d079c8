"""`handfast completion SHELL`: a script for bash, zsh or fish, made from the definitions of the commands themselves."""

import argparse
from collections.abc import Iterator

from handfast.cli.shared.console import write

_SHELLS = ("bash", "zsh", "fish")
_BASH = """\
_handfast() {
  local word="${COMP_WORDS[COMP_CWORD]}" path="" each
  for each in "${COMP_WORDS[@]:1:$((COMP_CWORD - 1))}"; do
    [ "$each" = "--" ] && return
    case " @PATHS@ " in *" ${path:+$path/}$each "*) path="${path:+$path/}$each" ;; esac
  done
  case "$path:${COMP_WORDS[COMP_CWORD-1]}" in
@CHOICES@
  esac
  case "$path" in
@WORDS@
  esac
}
"""


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser(
        "completion",
        help="print a script that completes commands in a shell",
        description="Print the completion script of a shell. In bash: source <(handfast completion bash)",
    )
    parser.add_argument("shell", choices=_SHELLS)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from handfast.cli.main import build_parser

    nodes = list(_walk("", build_parser()))
    write(_render_fish(nodes) if args.shell == "fish" else _render_bash(nodes, args.shell))
    return 0


_Node = tuple[str, argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]


def _walk(path: str, parser: argparse.ArgumentParser) -> Iterator[_Node]:
    """Every command with its path, such as `activity/list`, and the commands below it."""
    below: dict[str, argparse.ArgumentParser] = {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            below |= action.choices
    yield path, parser, below
    for name, each in below.items():
        yield from _walk(f"{path}/{name}".lstrip("/"), each)


def _options(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    return (action for action in parser._actions if action.option_strings and action.help != argparse.SUPPRESS)


def _positional_choices(parser: argparse.ArgumentParser) -> list[str]:
    found = (action for action in parser._actions if not action.option_strings and action.choices is not None)
    return [str(choice) for action in found for choice in action.choices or ()]


def _render_bash(nodes: list[_Node], shell: str) -> str:
    choices, words = [], []
    for path, parser, _ in nodes:
        for action in _options(parser):
            if action.choices is not None:
                cases = "|".join(f"{path}:{name}" for name in action.option_strings)
                offered = " ".join(map(str, action.choices))
                choices.append(f'    {cases}) COMPREPLY=($(compgen -W "{offered}" -- "$word")); return ;;')
        flags = [name for action in _options(parser) for name in action.option_strings]
        offered = " ".join([*_positional_choices(parser), *flags])
        words.append(f'    "{path}") COMPREPLY=($(compgen -W "{offered}" -- "$word")) ;;')
    body = _BASH.replace("@PATHS@", " ".join(path for path, *_ in nodes if path))
    body = body.replace("@CHOICES@", "\n".join(choices)).replace("@WORDS@", "\n".join(words))
    start = (
        "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n" if shell == "zsh" else ""
    )
    return start + body + "complete -o default -F _handfast handfast"


def _render_fish(nodes: list[_Node]) -> str:
    lines = []
    for path, parser, below in nodes:
        seen = [f"__fish_seen_subcommand_from {part}" for part in path.split("/") if part]
        none = [f"not __fish_seen_subcommand_from {' '.join(below)}"] if below else []
        where = "; and ".join([*seen, *none]) or "true"
        lines += [f"complete -c handfast -f -n '{where}' -a {word}" for word in _positional_choices(parser)]
        for action in _options(parser):
            spelt = " ".join(f"-l {o[2:]}" if o.startswith("--") else f"-s {o[1:]}" for o in action.option_strings)
            offered = f" -x -a '{' '.join(map(str, action.choices))}'" if action.choices is not None else ""
            lines.append(f"complete -c handfast -n '{where}' {spelt}{offered}")
    return "\n".join(lines)
