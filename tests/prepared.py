"""Python processes that are forked from one which has imported what they need: most of a start is importing.

Each is a process of its own and a child of the process that asked for it, with its own arguments, environment, folder
and pipes; only its modules are there already. `install()` has `subprocess.Popen` start the commands that it knows in
this way. A test that is about starting says `@pytest.mark.new_interpreters`.
"""

import array
import ctypes
import gc
import importlib
import inspect
import io
import json
import os
import runpy
import socket
import struct
import subprocess
import sys
import threading
import types
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, asdict, dataclass
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
PARTS: Final = str(ROOT / ".parts" / "py" / "bin" / "python")
STUB: Final = str(ROOT / "tests" / "stubs" / "upstream.py")
COMMAND: Final = str(Path(sys.executable).with_name("handfast"))
# What is imported by the gateway and the stub, and what is imported by servers and projects that a test starts.
# Nothing that reads an environment variable or a Django setting while it is imported, and nothing that starts a thread.
MODULES: Final[Mapping[str, Sequence[str]]] = {
    "gateway": ("handfast.cli.serve", "handfast.cli.wrap", "handfast.cli.activity", "handfast.gateway.serving", "gzip"),
    "tools": (
        "mcp.server.mcpserver",
        "mcp.client",
        "handfast.toolkit",
        "handfast.toolkit.toolbox",
        "handfast.activity.sqlite",
        "uvicorn",
        "django.core.management",
        "django.db.models",
        "django.core.handlers.wsgi",
    ),
    "renderer": ("numpy", "PIL.Image", "PIL.PngImagePlugin", "PIL.JpegImagePlugin"),
    "parts": ("mcp.server.mcpserver", "mcp.client", "fastmcp"),
}
_HEAVY: Final = ("handfast", "mcp", "django")
# An interpreter reads these as it starts, so a template is only for processes that have the same.
_READ_AT_START: Final = ("PYTHON", "LC_", "LANG", "LD_", "MALLOC_", "TZ", "SSL_", "OPENSSL_", "FASTMCP_")
_SUBREAPER: Final = 36  # PR_SET_CHILD_SUBREAPER of <linux/prctl.h>
_LENGTH: Final = struct.Struct("!I")


@dataclass(frozen=True, slots=True)
class Kind:
    """What one template can stand for."""

    python: str
    modules: str
    environment: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Order:
    """A process to be."""

    words: list[str]
    environment: dict[str, str]
    folder: str
    _: KW_ONLY
    umask: int
    new_session: bool


class Template:
    """A process that has imported modules, and forks itself for each command."""

    def __init__(self, kind: Kind) -> None:
        self._ours, theirs = socket.socketpair()
        self._one_at_a_time = threading.Lock()
        command = [kind.python, __file__, str(theirs.fileno()), *MODULES[kind.modules]]
        # numpy would start threads, and what has threads must not fork.
        environment = {**dict(kind.environment), "OPENBLAS_NUM_THREADS": "1"}
        with theirs:
            self._process = _Popen(
                command, stdin=subprocess.DEVNULL, env=environment, cwd=ROOT, pass_fds=[theirs.fileno()]
            )

    def fork(self, order: Order, descriptors: Sequence[int]) -> int:
        """The id of a new child of this process, with these descriptors as its standard input, output and errors."""
        body = json.dumps(asdict(order)).encode()
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
        with self._one_at_a_time:
            # Between it and the template is a process that ends at once: an orphan goes to the ancestor that says this.
            _prctl(_SUBREAPER, 1)
            try:
                self._ours.sendmsg([_LENGTH.pack(len(body))], rights)
                self._ours.sendall(body)
                (pid,) = _LENGTH.unpack(_read(self._ours, _LENGTH.size))
            finally:
                _prctl(_SUBREAPER, 0)
        return int(pid)

    def close(self) -> None:
        self._ours.close()
        self._process.wait()


class PreparedPopen(subprocess.Popen[Any]):  # Any: text or bytes, as the caller wants
    """`subprocess.Popen`, with a fork of a template where that comes to the same as a new interpreter."""

    is_in_use = True
    _templates: Final[dict[Kind, Template]] = {}
    _started: Final[Counter[Kind]] = Counter()

    def _execute_child(self, *given: Any) -> None:  # Any: what Popen hands to its own method
        asked = _SIGNATURE.bind(self, *given).arguments
        environment = {os.fsdecode(k): os.fsdecode(v) for k, v in (asked["env"] or os.environ).items()}
        words = [] if isinstance(asked["args"], str) else [os.fsdecode(word) for word in asked["args"]]
        folder = os.path.abspath(os.fsdecode(asked["cwd"] or "."))
        is_usual = self.is_in_use and _is_usual(asked) and os.path.isdir(folder)
        template = self._template(words, environment) if is_usual else None
        if template is None:
            _start_interpreter(self, *given)
            return
        ends = ("p2cread", "c2pwrite", "errwrite")
        descriptors = [asked[end] if asked[end] != -1 else own for own, end in enumerate(ends)]
        new_session = asked["start_new_session"]
        order = Order(words, environment, folder, umask=_read_umask(), new_session=new_session)
        self.pid = template.fork(order, descriptors)
        self._child_created = True
        pipes = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
        self._close_pipe_fds(*(asked[end] for end in pipes))  # type: ignore[attr-defined]  # Popen's own

    def _template(self, words: Sequence[str], environment: Mapping[str, str]) -> Template | None:
        modules = modules_for(words)
        if modules is None:
            return None
        read = {name: value for name, value in environment.items() if name.startswith(_READ_AT_START)}
        kind = Kind(PARTS if words[0] == PARTS else sys.executable, modules, tuple(sorted(read.items())))
        if kind not in self._templates:
            self._started[kind] += 1
        return self._templates.get(kind)

    @classmethod
    def make_templates(cls) -> None:
        """For what was started more than once; between tests, because some look at the children of this process."""
        for kind in [kind for kind, times in cls._started.items() if times > 1]:
            cls._templates[kind] = Template(kind)
            del cls._started[kind]

    @classmethod
    def close_templates(cls) -> None:
        while cls._templates:
            cls._templates.popitem()[1].close()


_Popen: Final = subprocess.Popen
_start_interpreter: Final = subprocess.Popen._execute_child  # type: ignore[attr-defined]  # what is replaced
_SIGNATURE: Final = inspect.signature(_start_interpreter)
_USUAL: Final[Mapping[str, object]] = {
    "executable": None,
    "preexec_fn": None,
    "pass_fds": (),
    "close_fds": True,
    "shell": False,
    "gid": None,
    "gids": None,
    "uid": None,
    "umask": -1,
    "process_group": -1,
}


def install() -> Callable[[], None]:
    """Start processes in this way from now on, where the system can. Gives what ends the templates."""
    if sys.platform == "linux":
        subprocess.Popen = PreparedPopen  # type: ignore[misc]  # on purpose
    return PreparedPopen.close_templates


def _is_usual(asked: Mapping[str, object]) -> bool:
    return all(asked.get(name, usual) == usual for name, usual in _USUAL.items())


def modules_for(words: Sequence[str]) -> str | None:
    """Which modules a command needs; None for one that must have an interpreter of its own."""
    python, first, second, *_ = [*words, "", "", ""]
    if python == COMMAND or (python == sys.executable and (first, second) == ("-m", "handfast.cli.main")):
        return "gateway"
    if python not in (sys.executable, PARTS):
        return None
    if first == STUB:
        return "gateway"
    if (first, second) == ("-m", "darkroom.renderer"):
        return "renderer"
    # A program that looks at what is loaded shows what it has loaded itself.
    is_code = first == "-c" and "sys.modules" not in second and any(name in second for name in _HEAVY)
    is_module = first == "-m" and second.startswith("tests.")
    if is_code or is_module or first.endswith(".py"):
        return "parts" if python == PARTS else "tools"
    return None


def _read_umask() -> int:
    """It can only be read by setting it."""
    umask = os.umask(0o077)
    os.umask(umask)
    return umask


def _prctl(option: int, value: int) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def _read(connection: socket.socket, length: int) -> bytes:
    text = b""
    while len(text) < length:
        if not (piece := connection.recv(length - len(text))):
            raise EOFError("the template ended")
        text += piece
    return text


# --- the template and its forks ------------------------------------------------------------------------------------


def _serve(orders: socket.socket) -> Order:
    """Fork for each order. Returns in the fork, with its order; the template ends when its parent hangs up."""
    while True:
        head, rights, _, _ = orders.recvmsg(_LENGTH.size, socket.CMSG_SPACE(3 * array.array("i").itemsize))
        if not head:
            os._exit(0)
        body = _read(orders, _LENGTH.unpack(head)[0])
        descriptors = array.array("i", rights[0][2])
        if _fork(orders):
            orders.close()
            for own, given in enumerate(descriptors):
                os.dup2(given, own)
            os.closerange(3, max(descriptors) + 1)
            return Order(**json.loads(body))
        for given in descriptors:
            os.close(given)


def _fork(orders: socket.socket) -> bool:
    """Whether this is the fork, which goes on when it has its parent."""
    told, tells = os.pipe()
    waits, releases = os.pipe()
    between = os.fork()
    if between:
        os.close(tells)
        os.close(waits)
        os.waitpid(between, 0)
        pid = int(os.read(told, 20))
        os.close(told)
        os.close(releases)
        orders.sendall(_LENGTH.pack(pid))
        return False
    if pid := os.fork():
        os.write(tells, str(pid).encode())
        os._exit(0)
    os.close(releases)
    os.read(waits, 1)
    for one in (told, tells, waits):
        os.close(one)
    return True


def _become(order: Order) -> None:
    if order.new_session:
        os.setsid()
    os.umask(order.umask)
    os.chdir(order.folder)
    os.environ.clear()
    os.environ.update(order.environment)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        opened = _opened(number, getattr(sys, name))
        setattr(sys, name, opened)
        setattr(sys, f"__{name}__", opened)
    importlib.invalidate_caches()


def _opened(number: int, before: Any) -> io.TextIOWrapper:  # Any: a text stream
    """A standard stream as an interpreter opens it."""
    is_unbuffered = bool(os.environ.get("PYTHONUNBUFFERED"))
    binary = open(number, "wb" if number else "rb", 0 if number and is_unbuffered else -1, closefd=False)  # noqa: SIM115  # for good
    return io.TextIOWrapper(
        binary,
        before.encoding,
        before.errors,
        newline="\n" if number else None,
        line_buffering=not is_unbuffered and (number == 2 or os.isatty(number)),
        write_through=is_unbuffered,
    )


def _run(words: list[str]) -> None:
    """As the interpreter would with these words."""
    _, *rest = words if words[0] == sys.executable else ["", *words]
    if rest[0] == "-m":
        sys.argv, sys.path[0] = rest[1:], os.getcwd()
        runpy.run_module(rest[1], run_name="__main__", alter_sys=True)
    elif rest[0] == "-c":
        sys.argv, sys.path[0] = ["-c", *rest[2:]], ""
        main = sys.modules["__main__"] = types.ModuleType("__main__")
        exec(compile(rest[1], "<string>", "exec"), main.__dict__)
    else:
        sys.argv, sys.path[0] = rest, str(Path(rest[0]).resolve().parent)
        runpy.run_path(rest[0], run_name="__main__")


def _main() -> None:
    sys.path[0] = str(ROOT)
    with socket.socket(fileno=int(sys.argv[1])) as orders:
        for name in sys.argv[2:]:
            importlib.import_module(name)
        gc.collect()
        gc.freeze()  # so that a fork's collector does not touch, and thereby copy, what is shared
        order = _serve(orders)
    _become(order)
    _run(order.words)


if __name__ == "__main__":
    _main()
