"""`mcp-admin-guardrail`: what guards an admin tool's handler, and everything that only looks as if it did."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from handfast.lint.findings import make_finding
from tests.lint.project_files import judge, told

ROOT = Path(__file__).parents[3]
HANDLER = """from handfast.toolkit import admin_tool as admin, require_admin_guardrails
async def drop(*, app_state, arguments, actor=None):
    return app_state.drop()
async def fine(*, app_state, arguments, actor=None):
    require_admin_guardrails(arguments, actor)
"""

FOUND = {
    "the handler by its name": "admin('drop', handler=drop)",
    "the handler as a plain argument": "admin('drop', 'Drop it.', drop)",
    "another name for the builder": "make = admin\nmake('drop', handler=drop)",
    "another name for the handler": "h = drop\nadmin('drop', handler=h)",
    "with_handler": "from handfast.toolkit import with_handler\nwith_handler(admin('drop'), drop)",
    "with_handler, later": "from handfast import toolkit\nt = admin('drop')\ntoolkit.with_handler(t, handler=drop)",
    "with_handlers": "from handfast.toolkit import with_handlers\nwith_handlers([admin('drop')], {'drop': drop})",
    "a toolbox": "tools.add_all([admin('drop')], {'drop': drop})",
    "a handler map": "TOOLS = [admin('drop')]\nHANDLERS = {'drop': drop}",
    "a read-only handler map": "TOOLS = [admin('drop')]\nHANDLERS = MappingProxyType({'x': fine, 'drop': drop})",
    "a handler map made by dict": "admin('drop')\nHANDLERS = dict(drop=drop)",
    "a handler map filled later": "admin('drop')\nHANDLERS = {}\nHANDLERS['drop'] = drop",
    "a handler map in a call": "register(admin('drop'), {'drop': drop})",
    "a name from a constant": "DROP = 'drop'\nadmin(DROP)\nHANDLERS = {'drop': drop}",
    "a key from a constant": "DROP = 'drop'\nadmin(name='drop')\nHANDLERS = {DROP: drop}",
    "names that only a run can tell": "admin(names.DROP)\nHANDLERS = {names.DROP: drop}",
    "a model beside the handler": "class D: ...\nadmin('drop')\nMODELS = {'drop': D}\nHANDLERS = {'drop': drop}",
    "a formatter beside the handler": "def f(x): ...\nadmin('drop')\nTEXTS = {'drop': f}\nHANDLERS = {'drop': drop}",
    "a builder that may be another": "try: make = admin\nexcept E: make = print\nmake('drop', handler=drop)",
    "a title beside the handler": "admin('drop')\nTITLES = {'drop': 'Drop'}\nHANDLERS = {'drop': drop}",
    "a partial handler": "from functools import partial\nadmin('drop', handler=partial(drop, app_state=1))",
    "a registration inside a function": "def register(tools):\n    tools.add(admin('drop', handler=drop))",
    "a decorator": "",
}


@pytest.mark.requirement("003-11")
@pytest.mark.parametrize("how", FOUND)
def test_a_handler_is_found_through(how: str, tmp_path: Path) -> None:
    source = HANDLER + FOUND[how] + "\n"
    if how == "a decorator":
        source = HANDLER.replace("async def drop", "@admin('drop')\nasync def drop")
    found = judge(tmp_path, {"app.py": source})
    assert told(found) == [("mcp-admin-guardrail", "app.py", 2 + (how == "a decorator"))]


@pytest.mark.requirement("003-11")
@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("class H:\n    async def drop(self): f()\nadmin_tool('drop', handler=H.drop)\n", 3),
        ("class H:\n    async def drop(self): f()\n    def add(self): admin_tool('drop', handler=self.drop)\n", 3),
        ("if A:\n    def d(): f()\nelse:\n    def d(): require_admin_guardrails()\nadmin_tool('d', handler=d)", 3),
        ("\nadmin_tool('drop', handler=lambda **k: f())\n", 3),
    ],
    ids=["a method of a class", "a method of its own class", "one of two definitions", "a lambda"],
)
def test_a_handler_may_be(source: str, line: int, tmp_path: Path) -> None:
    head = "from handfast.toolkit import admin_tool, require_admin_guardrails\n"
    assert told(judge(tmp_path, {"app.py": head + source})) == [("mcp-admin-guardrail", "app.py", line)]


NOT_A_FUNCTION = "is not a function that can be found from here"
UNSEEN = {
    "none given": ("admin('drop')", "'drop'", "no handler is given, and no handler map in this file has its name"),
    "another tool's": (
        "admin('drop')\nHANDLERS = {'fine': fine}",
        "'drop'",
        "no handler is given, and no handler map in this file has its name",
    ),
    "from a package": (
        "from acme import gone\nadmin('drop', handler=gone)",
        "'drop'",
        f"its handler, gone, {NOT_A_FUNCTION}",
    ),
    "made by a call": ("admin('drop', handler=made(fine))", "'drop'", f"its handler, made(fine), {NOT_A_FUNCTION}"),
    "looked up": ("admin('drop', handler=MAP['drop'])", "'drop'", f"its handler, MAP['drop'], {NOT_A_FUNCTION}"),
    "an object's": ("admin('drop', handler=fine.drop)", "'drop'", f"its handler, fine.drop, {NOT_A_FUNCTION}"),
    "a class": ("class Drop: ...\nadmin('drop', handler=Drop)", "'drop'", f"its handler, Drop, {NOT_A_FUNCTION}"),
    "an import that may fail": (
        "try: from acme import other\nexcept E: other = fine\nadmin('drop', handler=other)",
        "'drop'",
        f"its handler, other, {NOT_A_FUNCTION}",
    ),
    "in a map, from elsewhere": (
        "admin('drop')\nHANDLERS = {'drop': acme.drop}",
        "'drop'",
        f"its handler, acme.drop, {NOT_A_FUNCTION}",
    ),
    "in a map of titles only": (
        "admin('drop')\nHANDLERS = {'drop': 'Drop it'}",
        "'drop'",
        "no handler is given, and no handler map in this file has its name",
    ),
    "in a map, no handler": (
        "admin('drop')\nHANDLERS = {'drop': lambda x: f(x)}",
        "'drop'",
        "no handler is given, and no handler map in this file has its name",
    ),
    "all arguments in a star": (
        "admin(**spec)",
        "?",
        "no handler is given, and no handler map in this file has its name",
    ),
    "the builder handed on": (
        "make = partial(admin, x=1)",
        "admin_tool",
        "admin_tool is handed on here instead of being called",
    ),
    "the builder in a table": (
        "MAKERS = {'a': admin}",
        "admin_tool",
        "admin_tool is handed on here instead of being called",
    ),
}


@pytest.mark.requirement("003-11")
@pytest.mark.parametrize("case", UNSEEN.values(), ids=UNSEEN)
def test_a_handler_that_cannot_be_seen_is_a_warning_and_never_silence(
    case: tuple[str, str, str], tmp_path: Path
) -> None:
    use, name, why = case
    source = HANDLER.replace("return app_state.drop()", "require_admin_guardrails(arguments, actor)") + use + "\n"
    line = 5 + len(use.splitlines()) - (1 if "HANDLERS" in use else 0)
    expected = make_finding("mcp-admin-guardrail-unseen", f"The admin tool {name}: {why}.", file="app.py", line=line)
    assert judge(tmp_path, {"app.py": source}) == [expected]


def test_an_opt_out_at_the_registration_is_taken_for_a_handler_that_cannot_be_seen(tmp_path: Path) -> None:
    source = (
        HANDLER + "admin(\n    'x',  # lint-allow: mcp-admin-guardrail -- guarded in acme\n    handler=acme.drop)\n"
    )
    assert judge(tmp_path, {"app.py": source}) == []


def test_a_handler_of_another_file_is_judged_where_it_is(tmp_path: Path) -> None:
    files = {
        "shop/__init__.py": "",
        "shop/builders.py": "from handfast.toolkit import admin_tool as destructive\n",
        "shop/handlers.py": HANDLER,
        "shop/tools.py": """
            from shop import handlers
            from .builders import destructive
            from .handlers import drop
            TOOLS = [destructive("drop", handler=drop), destructive("fine", handler=handlers.fine)]
            """,
    }
    assert told(judge(tmp_path, files)) == [("mcp-admin-guardrail", "shop/handlers.py", 2)]


@pytest.mark.requirement("003-11")
def test_a_real_server_that_loses_its_guards_is_found_out(tmp_path: Path) -> None:
    """The back office has admin tools with handlers in maps, behind decorators, and as methods."""
    guard = "    require_admin_guardrails(arguments, actor)\n"
    files = sorted((ROOT / "examples" / "backoffice" / "backoffice" / "handlers").glob("*.py"))
    sources = {f"handlers/{path.name}": path.read_text("utf-8") for path in files}
    guarded = sorted(name for name, text in sources.items() if guard in text)
    assert len(guarded) >= 4
    assert judge(tmp_path, sources) == []
    found = judge(tmp_path, {name: text.replace(guard, "    pass\n") for name, text in sources.items()})
    assert sorted({finding.file for finding in found}) == guarded
    assert {finding.id for finding in found} == {"mcp-admin-guardrail"}


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
    expected = make_finding("mcp-admin-guardrail", text, file="app.py", line=case.line)
    assert judge(tmp_path, {"app.py": case.source}) == [expected]


@pytest.mark.requirement("003-11")
@pytest.mark.parametrize("mark", ["", " --", " -- ", " see issue 7"])
def test_an_opt_out_without_a_reason_is_an_error_and_opts_nothing_out(mark: str, tmp_path: Path) -> None:
    source = handler("f()", head=f"{HEAD}  # lint-allow: mcp-admin-guardrail{mark}")
    assert told(judge(tmp_path, {"app.py": source})) == [
        ("mcp-admin-guardrail", "app.py", 2),
        ("mcp-admin-guardrail-reason", "app.py", 2),
    ]
