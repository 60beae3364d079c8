"""One Python file, read and parsed once; what cannot be parsed is a finding."""

import ast
import io
import re
import sys
import tokenize
import warnings
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from handfast.lint.catalogue import find
from handfast.lint.findings import Finding
from handfast.lint.sources.scopes import Scopes, read_scopes
from handfast.regular_file import read_regular

_MARK = re.compile(r"#\s*lint-allow:\s*(?P<id>[\w-]+)(?P<rest>(?:(?!#\s*lint-allow:).)*)")
_REASON = re.compile(r"\s*--\s*(?P<reason>.*)")


@dataclass(frozen=True, slots=True)
class OptOut:
    """`# lint-allow: <id> -- <reason>`, wherever it stands."""

    id: str
    line: int
    has_reason: bool


@dataclass(frozen=True)
class SourceFile:
    """A file that parses. `shown` is its name in findings, as the user would write it."""

    path: Path
    shown: str
    source: bytes
    tree: ast.Module

    @cached_property
    def scopes(self) -> Scopes:
        return read_scopes(self.tree)

    @cached_property
    def _tokens(self) -> list[tokenize.TokenInfo]:
        tokens: list[tokenize.TokenInfo] = []
        try:
            # Comments are not in the tree, and a string may look like one: only the tokens tell.
            tokens.extend(tokenize.tokenize(io.BytesIO(self.source).readline))
        except (tokenize.TokenError, SyntaxError):
            return []  # no opt-out is seen, so all the more is found
        return tokens

    @cached_property
    def opt_outs(self) -> list[OptOut]:
        if b"lint-allow" not in self.source:
            return []  # nearly always, and tokens take longer than all the rest
        comments = [token for token in self._tokens if token.type == tokenize.COMMENT]
        return [
            OptOut(mark["id"], comment.start[0], _has_reason(mark["rest"]))
            for comment in comments
            for mark in _MARK.finditer(comment.string)
        ]

    def is_allowed(self, rule_id: str, first: int, last: int) -> bool:
        """Whether an opt-out with a reason stands on one of these lines."""
        return any(o.id == rule_id and o.has_reason and first <= o.line <= last for o in self.opt_outs)

    def header_end(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
        """The line of the colon before a function's body."""
        first = node.body[0]
        decorators: list[ast.expr] = getattr(first, "decorator_list", [])  # they stand before their function
        begin = min([(first.lineno, first.col_offset), *((d.lineno, d.col_offset) for d in decorators)])
        colons = [t.start[0] for t in self._tokens if t.string == ":" and node.lineno <= t.start[0] and t.start < begin]
        return max(colons, default=node.lineno)

    def missing_reasons(self) -> list[Finding]:
        return [
            find(f"{o.id}-reason", f"The opt-out from {o.id} gives no reason.", file=self.shown, line=o.line)
            for o in self.opt_outs
            if not o.has_reason and o.id in ("boundary-typed", "mcp-admin-guardrail")
        ]


def _has_reason(rest: str) -> bool:
    given = _REASON.match(rest)
    # A lone dash or dot tells nobody anything.
    return given is not None and any(char.isalnum() for char in given["reason"])


def read_source(path: Path, shown: str) -> SourceFile | Finding:
    """The parsed file, or why it is none."""
    try:
        source = read_regular(path)
    except OSError as problem:
        reason = problem.strerror or "it cannot be opened"
        return find("source-unreadable", f"The file cannot be read: {reason}.", file=shown)
    try:
        return SourceFile(path, shown, source, _parse(source))
    except SyntaxError as problem:
        said = problem.msg.removesuffix(".")
        return find(
            "source-unreadable", f"This is not Python {_VERSION}: {said}.", file=shown, line=problem.lineno or 1
        )
    except (ValueError, RecursionError, MemoryError):
        text = "This is not Python: the text is binary or nested too deeply."
        return find("source-unreadable", text, file=shown, line=1)


_VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"


def _parse(source: bytes) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an odd escape in somebody's file is not ours to report
        return ast.parse(source)
