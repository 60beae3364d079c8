"""`mcp-admin-guardrail`: what guards an admin tool's handler, and everything that only looks as if it did."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from handfast.lint.catalogue import find
from tests.lint.project_files import judge, told

IMPORT = "from handfast.toolkit import admin_tool, require_admin_guardrails\n"
HEAD = "async def drop(*, app_state, arguments, actor=None):"
GUARD = "require_admin_guardrails(arguments, actor)"
ALLOWED = "# lint-allow: mcp-admin-guardrail -- see issue 7"
TOOL = "\nadmin_tool('drop', 'Drop it.', handler=drop)\n"


def handler(*body: str, head: str = HEAD, imports: str = IMPORT) -> str:
    """A file with one admin tool; its handler begins in the second line."""
    return "\n".join([imports + head, *(f"    {line}" for line in body)]) + TOOL


GUARDED = {
    "the guard alone": handler(GUARD),
    "a docstring before it": handler('"""Drop it."""', GUARD, "return ok()"),
    "statements without a call before it": handler("reason = arguments", "x = reason", GUARD, "return f(x)"),
    "its value kept": handler(f"reason = {GUARD}", "return ok(reason)"),
    "awaited": handler(f"await {GUARD}", "return ok()"),
    "in a try block": handler("try:", f"    {GUARD}", "except E as e:", "    return err(e)", "return ok()"),
    "in a try block within a try block": handler(
        "try:", "    try:", f"        {GUARD}", "    finally: f()", "finally: g()"
    ),
    "in a with block that calls nothing": handler("with lock:", f"    {GUARD}", "    return ok()"),
    "a method called on what it gives": handler(f"return {GUARD}.render(f())"),
    "a function defined before it": handler("def f(): return g()", GUARD, "return f()"),
    "a lambda before it": handler("f = lambda: g()", GUARD, "return f()"),
    "a decorated handler": handler(GUARD, head=f"@deco(f())\n{HEAD}"),
    "a default that calls": handler(GUARD, head="async def drop(*, app_state=f(), arguments, actor=None):"),
    "a renamed import": handler(
        "guard(arguments, actor)",
        imports="from handfast.toolkit import admin_tool, require_admin_guardrails as guard\n",
    ),
    "a renamed module": handler(
        f"t.{GUARD}", imports="import handfast.toolkit as t; from handfast.toolkit import admin_tool\n"
    ),
    "an import inside the handler": handler(
        "from handfast.toolkit import require_admin_guardrails",
        GUARD,
        imports="from handfast.toolkit import admin_tool\n",
    ),
    "no admin tool at all": f"{IMPORT}{HEAD}\n    f()\n",
    "an admin_tool of somebody else": "from acme import admin_tool\n" + f"{HEAD}\n    f()\n" + TOOL,
    "an admin_tool of its own": "def admin_tool(*a, **k): ...\n" + f"{HEAD}\n    f()\n" + TOOL,
    "a placeholder": "from handfast.toolkit import admin_tool, make_placeholder_handler\n"
    "admin_tool('drop', handler=make_placeholder_handler('drop'))\n",
    "the typed form": "from handfast.toolkit import Toolbox\ntools = Toolbox('x')\n"
    "@tools.admin\nasync def drop(args, call): f()\n",
    "an opt-out on the def line": handler("f()", head=f"{HEAD}  {ALLOWED}"),
    "an opt-out on a decorator": handler("f()", head=f"@deco  {ALLOWED}\n{HEAD}"),
    "an opt-out in the signature": handler(
        "f()",
        head=f"async def drop(\n    *, app_state,  {ALLOWED}\n    arguments, actor=None):",
    ),
    "an opt-out after the signature": handler(
        "f()",
        head=f"async def drop(\n    *, app_state, arguments, actor=None\n):  {ALLOWED}",
    ),
}


@pytest.mark.requirement("003-11")
@pytest.mark.parametrize("source", GUARDED.values(), ids=GUARDED)
def test_nothing_is_found_with(source: str, tmp_path: Path) -> None:
    assert judge(tmp_path, {"app.py": source}) == []


@dataclass(frozen=True, slots=True)
class Unguarded:
    source: str
    why: str
    line: int = 2


NOT_AT_ALL = "does not call require_admin_guardrails itself"
CONDITION = "calls require_admin_guardrails only under a condition"
NOT_HANDFASTS = "calls a require_admin_guardrails that is not, or not always, handfast's"


def before(line: int) -> str:
    return f"calls something else before require_admin_guardrails, in line {line}"


UNGUARDED = {
    "no call": Unguarded(handler("return ''"), NOT_AT_ALL),
    "a placeholder's exception": Unguarded(handler("raise NotImplementedError()"), NOT_AT_ALL),
    "the guard's name only": Unguarded(handler("g = require_admin_guardrails", "return f(g)"), NOT_AT_ALL),
    "a log line before it": Unguarded(handler("log.debug('drop')", GUARD), before(3)),
    "a look at the arguments before it": Unguarded(handler("x = arguments.get('x')", GUARD), before(3)),
    "the guard within another call": Unguarded(handler(f"check({GUARD})"), before(3)),
    "a call on the same line before it": Unguarded(handler(f"x = f(), {GUARD}"), before(3)),
    "a call in an f-string before it": Unguarded(handler("x = f'{f()}'", GUARD), before(3)),
    "a with block that calls before it": Unguarded(handler("with lock():", f"    {GUARD}"), before(3)),
    "a condition that calls before it": Unguarded(handler("if f():", "    return ''", GUARD), before(3)),
    "a decorator of an inner function before it": Unguarded(handler("@d()", "def f(): ...", GUARD), before(3)),
    "a default of an inner function before it": Unguarded(handler("def f(x=g()): ...", GUARD), before(3)),
    "the body of an inner class before it": Unguarded(handler("class C:", "    x = f()", GUARD), before(4)),
    "the guard in the wrong arm": Unguarded(handler(f"x = f() if {GUARD} else g()"), before(3)),
    "the guard under an if": Unguarded(handler("if actor:", f"    {GUARD}", "f()"), CONDITION),
    "the guard in an else": Unguarded(handler("if actor: pass", "else:", f"    {GUARD}"), CONDITION),
    "the guard in a loop": Unguarded(handler("for x in arguments:", f"    {GUARD}"), CONDITION),
    "the guard after an and": Unguarded(handler(f"actor and {GUARD}"), CONDITION),
    "the guard in an expression's arm": Unguarded(handler(f"x = {GUARD} if actor else 0"), CONDITION),
    "the guard in a comprehension": Unguarded(handler(f"[{GUARD} for x in arguments]"), CONDITION),
    "the guard in an except": Unguarded(handler("try: x = 1", "except E:", f"    {GUARD}"), CONDITION),
    "the guard in the else of a try": Unguarded(
        handler("try: x = y", "except E: pass", "else:", f"    {GUARD}"), CONDITION
    ),
    "the guard in a case": Unguarded(handler("match arguments:", "    case {}:", f"        {GUARD}"), CONDITION),
    "the guard in an assertion": Unguarded(handler(f"assert {GUARD}"), CONDITION),
    "the guard in a function inside": Unguarded(handler(f"def f(): {GUARD}", "f()"), NOT_AT_ALL),
    "the guard in a lambda": Unguarded(handler(f"(lambda: {GUARD})()"), NOT_AT_ALL),
    "the guard in the decorator only": Unguarded(handler("f()", head=f"@d({GUARD})\n{HEAD}"), NOT_AT_ALL, 3),
    "a function of its name": Unguarded(
        handler(GUARD, imports="from handfast.toolkit import admin_tool; from x import require_admin_guardrails\n"),
        NOT_HANDFASTS,
    ),
    "an import that may fail": Unguarded(
        handler(GUARD, imports=f"{IMPORT.strip()}; require_admin_guardrails = require_admin_guardrails or f\n"),
        NOT_HANDFASTS,
    ),
    "a variable of its name": Unguarded(handler("require_admin_guardrails = f", GUARD), NOT_HANDFASTS),
    "a parameter of its name": Unguarded(
        handler(GUARD, head="async def drop(*, arguments, actor=None, require_admin_guardrails=None):"), NOT_HANDFASTS
    ),
    "an opt-out after the header": Unguarded(handler(ALLOWED, "f()"), NOT_AT_ALL),
    "an opt-out in a text": Unguarded(handler(f"'{ALLOWED}'", "f()"), NOT_AT_ALL),
    "an opt-out of another check": Unguarded(
        handler("f()", head=f"{HEAD}  # lint-allow: boundary-typed -- see issue 7"), NOT_AT_ALL
    ),
}


@pytest.mark.requirement("003-11")
@pytest.mark.parametrize("case", UNGUARDED.values(), ids=UNGUARDED)
def test_a_handler_is_not_guarded_by(case: Unguarded, tmp_path: Path) -> None:
    text = f"The handler of the admin tool 'drop': 'drop' {case.why}."
    expected = find("mcp-admin-guardrail", text, file="app.py", line=case.line)
    assert judge(tmp_path, {"app.py": case.source}) == [expected]


@pytest.mark.requirement("003-11")
@pytest.mark.parametrize("mark", ["", " --", " -- ", " see issue 7"])
def test_an_opt_out_without_a_reason_is_an_error_and_opts_nothing_out(mark: str, tmp_path: Path) -> None:
    source = handler("f()", head=f"{HEAD}  # lint-allow: mcp-admin-guardrail{mark}")
    assert told(judge(tmp_path, {"app.py": source})) == [
        ("mcp-admin-guardrail", "app.py", 2),
        ("mcp-admin-guardrail-reason", "app.py", 2),
    ]
