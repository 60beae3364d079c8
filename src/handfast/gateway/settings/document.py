"""Reads the settings file as JSON that can be read only one way: no repeated keys, no NaN, no comments."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from handfast.gateway.settings.problems import Findings, SettingsError, Where
from handfast.regular_file import read_regular

# A settings file is a few kilobytes. A running gateway reads it between two requests, so both bounds keep a wrong file
# from taking time from its clients.
MOST_BYTES = 1024 * 1024
MOST_VALUES = 10_000
# Our deepest key has six levels; what other clients add beside ours is not deeper than this either.
_DEEPEST = 100


class _Object(dict[str, object]):
    """A JSON object that remembers which of its keys were written twice."""

    repeated: tuple[str, ...] = ()


class _NotANumber:
    """Stands where the file says NaN or Infinity, until its path is known."""


def read_document(path: Path) -> dict[str, object]:
    """The file's top-level object. Raises: SettingsError."""
    document = _decode(_read_text(path), str(path))
    if not isinstance(document, dict):
        raise SettingsError([f'{path}: must be a JSON object such as {{"mcpServers": {{}}}}'])
    findings = Findings(str(path))
    _check_unambiguous(document, findings)
    findings.require_none()
    return document


def _read_text(path: Path) -> str:
    try:
        content = read_regular(path, MOST_BYTES)
    except FileNotFoundError:
        problem = "does not exist; write one with: handfast config init"
    except PermissionError:
        problem = "may not be read by this user; change its permissions"
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.errno is None else ""
        problem = f"cannot be read: {why}; name a file with the settings" if why else "cannot be read; check the path"
        if path.is_dir():
            problem = "is a folder; name the settings file in it"
    else:
        return _text_of(content, path)
    raise SettingsError([f"{path}: {problem}"])


def _text_of(content: bytes, path: Path) -> str:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SettingsError([f"{path}: is not UTF-8; save it as UTF-8"]) from None
    if not text.strip():
        raise SettingsError([f"{path}: is empty; write a starter file with: handfast config init --force"])
    return text


def _decode(text: str, source: str) -> object:
    try:
        decoded: object = json.loads(text, object_pairs_hook=_object, parse_constant=lambda _: _NotANumber())
    except json.JSONDecodeError as error:
        problem = f"line {error.lineno} column {error.colno}: {_explain(text, error)}"
    except RecursionError:
        problem = "is nested too deeply"
    except ValueError:
        problem = "holds a number with too many digits"
    else:
        return decoded
    raise SettingsError([f"{source}: {problem}"])


def _object(pairs: list[tuple[str, object]]) -> _Object:
    made = _Object(pairs)
    if len(made) < len(pairs):
        times = Counter(name for name, _ in pairs)
        made.repeated = tuple(name for name in made if times[name] > 1)
    return made


def _explain(text: str, error: json.JSONDecodeError) -> str:
    rest = text[error.pos :]
    if rest.startswith(("//", "/*", "#")):
        return "JSON has no comments; remove this one"
    before = text[: error.pos].rstrip()
    # Python 3.13 points at the comma, earlier ones at the bracket after it.
    if (rest[:1] in ("}", "]") and before.endswith(",")) or (rest[:1] == "," and rest[1:].lstrip()[:1] in ("}", "]")):
        return "a comma before a closing bracket is one too many; remove it"
    if rest.startswith("'"):
        return "JSON puts text in double quotes"
    if not rest.strip():
        return "the file ends too early; a closing bracket or quote is missing"
    return f"not valid JSON ({error.msg[:1].lower()}{error.msg[1:].removesuffix(' at')})"


def _check_unambiguous(document: dict[str, object], findings: Findings) -> None:
    for number, (where, value) in enumerate(_walk(document)):
        if number > MOST_VALUES:
            findings.add((), f"holds more than {MOST_VALUES} values; this is not a settings file")
            return
        if isinstance(value, _Object):
            for name in value.repeated:
                findings.add((*where, name), "is written twice; keep one of them")
        if isinstance(value, _NotANumber):
            findings.add(where, "is NaN or Infinity, which is not JSON; write a number")
        if len(where) > _DEEPEST:
            findings.add((), "is nested too deeply")
            return
        # A lone surrogate cannot be written to a terminal, a process or a socket.
        if (isinstance(value, str) and not _is_unicode(value)) or (where and not _is_unicode(where[-1])):
            findings.add(where[:-1], "holds text that is not valid Unicode (half of a surrogate pair)")


def _walk(document: object) -> Iterator[tuple[Where, object]]:
    """Every value with its path, in the order of the file, without recursion."""
    waiting: list[tuple[Where, object]] = [((), document)]
    while waiting:
        where, value = waiting.pop()
        yield where, value
        inner: list[tuple[Where, object]] = []
        if isinstance(value, dict):
            inner = [((*where, name), item) for name, item in value.items()]
        elif isinstance(value, list):
            inner = [((*where, str(index)), item) for index, item in enumerate(value)]
        waiting.extend(reversed(inner))


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)
