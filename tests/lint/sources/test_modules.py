"""Names followed across the files of a project."""

import ast
from pathlib import Path

import pytest

from handfast.lint.sources.file import SourceFile, read_source
from handfast.lint.sources.modules import External, Local, Modules, Unknown, package_of
from tests.lint.project_files import write_files

SHOP = {
    "src/shop/__init__.py": "from .wire import decode as public_decode\n",
    "src/shop/wire.py": "from handfast.boundary import parse_typed as read\ndef decode(): ...\n"
    "class Box:\n    def m(self): ...\n",
    "src/shop/round.py": "from .about import x\n",
    "src/shop/about.py": "from .round import x\n",
    "src/shop/all.py": "from .wire import *\n",
    "src/shop/broken.py": "def (\n",
}


def meant(folder: Path, source: str, files: dict[str, str] = SHOP) -> list[str]:
    """What the last expression of src/shop/app.py stands for."""
    write_files(folder, files | {"src/shop/app.py": source})
    return ask(Modules(folder, {}), folder / "src/shop/app.py")


def _told(meaning: object) -> str:
    match meaning:
        case External(dotted):
            return dotted
        case Local(file, node):
            return f"{file.path.name}:{node.lineno}"
        case _:
            assert meaning == Unknown()
            return "?"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import os.path as p\np.join", "os.path.join"),
        ("import os.path\nos.path.join", "os.path.join"),
        ("from handfast.toolkit import admin_tool\nadmin_tool", "handfast.toolkit.admin_tool"),
        ("from handfast import toolkit\ntoolkit.toolbox.Toolbox", "handfast.toolkit.toolbox.Toolbox"),
        ("from .wire import read\nread", "handfast.boundary.parse_typed"),
        ("from shop.wire import read\nread", "handfast.boundary.parse_typed"),
        ("import shop.wire\nshop.wire.read", "handfast.boundary.parse_typed"),
        ("from . import wire\nwire.read", "handfast.boundary.parse_typed"),
        ("from .all import read\nread", "handfast.boundary.parse_typed"),
        ("from .wire import *\nread", "handfast.boundary.parse_typed"),
        ("from handfast.toolkit import *\nfrom os import *\nadmin_tool", "handfast.toolkit.admin_tool"),
        ("from os import *\nfrom sys import *\nthing", "os.thing sys.thing"),
        ("from .wire import decode\ndecode", "wire.py:2"),
        ("from shop import public_decode as d\nd", "wire.py:2"),
        ("from .wire import Box\nBox.m", "wire.py:4"),
        ("from .wire import Box\nBox.other", "?"),
        ("from .wire import Box\nBox().m", "?"),
        ("from .round import x\nx", "?"),
        ("from .broken import x\nx", "shop.broken.x"),
        ("from .gone import x\nx", "shop.gone.x"),
        ("from ... import x\nx", "?"),
        ("nowhere", "?"),
        ("x = y = x\nx", "?"),
        ("def f(): ...\ng = h = f\nh", "app.py:1"),
        ("f = lambda: 0\nf", "app.py:1"),
        ("try: from os import x\nexcept E: x = None\nx", "? os.x"),
    ],
)
def test_a_name_stands_for(source: str, expected: str, tmp_path: Path) -> None:
    assert meant(tmp_path, source) == expected.split()


def ask(modules: Modules, path: Path) -> list[str]:
    """What the last expression of a file stands for."""
    file = read_source(path, path.name)
    assert isinstance(file, SourceFile)
    last = file.tree.body[-1]
    assert isinstance(last, ast.Expr)
    return sorted(map(_told, modules.meanings(last.value, file)))


def test_packages_in_the_src_folder_are_found_from_anywhere(tmp_path: Path) -> None:
    write_files(tmp_path, SHOP | {"scripts/serve.py": "from shop.wire import read\nread\n"})
    assert ask(Modules(tmp_path, {}), tmp_path / "scripts/serve.py") == ["handfast.boundary.parse_typed"]


def test_a_module_beside_a_file_is_that_files_own(tmp_path: Path) -> None:
    use = "from tool import f\nf\n"
    write_files(tmp_path, {"a/x.py": use, "b/x.py": use, "b/tool.py": "def f(): ...\n", "c/x.py": use})
    modules = Modules(tmp_path, {})
    assert [ask(modules, tmp_path / f"{name}/x.py") for name in "abc"] == [["tool.f"], ["tool.py:1"], ["tool.f"]]


def test_a_long_chain_of_names_is_given_up_on(tmp_path: Path) -> None:
    chain = "".join(f"x{n} = x{n + 1}\n" for n in range(100)) + "def x100(): ...\n"
    assert meant(tmp_path, f"{chain}x0") == ["?"]
    assert meant(tmp_path, f"{chain}x95") == ["app.py:101"]


def test_names_that_stand_for_each_other_are_each_looked_into_once(tmp_path: Path) -> None:
    web = "".join(f"x{one} = x{other}\n" for one in range(12) for other in range(12))
    assert meant(tmp_path, f"{web}def x7(): ...\nx0") == ["?", "app.py:145"]


def test_packages_are_counted_from_the_first_folder_without_init(tmp_path: Path) -> None:
    write_files(tmp_path, {"a/b/__init__.py": "", "a/b/c/__init__.py": "", "a/b/c/d.py": ""})
    assert package_of(tmp_path / "a/b/c/d.py") == (tmp_path.resolve() / "a", ("b", "c"))
