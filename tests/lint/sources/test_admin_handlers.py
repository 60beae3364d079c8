"""Which functions are taken for the handlers of admin tools, and what is said where none can be found."""

from pathlib import Path

import pytest

from handfast.lint.catalogue import find
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
    expected = find("mcp-admin-guardrail-unseen", f"The admin tool {name}: {why}.", file="app.py", line=line)
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
