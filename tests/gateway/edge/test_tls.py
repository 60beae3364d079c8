"""TLS of the listener: a certificate that is renewed while clients are connected, and files that cannot be used."""

import http.client
import json
import os
import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from handfast.gateway.edge.tls import Certificate, TlsUnusable
from tests.contracts.rig import HANDFAST
from tests.gateway.running import eventually, running, stdio
from tests.stubs.run import answer, tool, write_stub

TEXT = '{"content":[{"type":"text","text":"fine"}]}'


def issue(folder: Path, name: str, *, password: str = "") -> Path:
    """A certificate of its own, as `name.pem` and `name.key`."""
    folder.mkdir(exist_ok=True)
    names = ["-subj", f"/CN={name}", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    locked = ["-passout", f"pass:{password}"] if password else ["-nodes"]
    output = ["-keyout", str(folder / f"{name}.key"), "-out", str(folder / f"{name}.pem")]
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", *locked, "-days", "2", *names, *output]
    subprocess.run(made, check=True, capture_output=True)
    return folder / f"{name}.pem"


@pytest.fixture(scope="module")
def issued(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tls")
    for name in ("first", "second"):
        issue(folder, name)
    issue(folder, "locked", password="secret")
    (folder / "words.pem").write_text("no certificate")
    return folder


def put(issued: Path, name: str, folder: Path) -> dict[str, str]:
    """The files in use, exchanged as a renewal does: each written beside and moved into its place."""
    for source, target in ((f"{name}.pem", "used.pem"), (f"{name}.key", "used.key")):
        (folder / "next").write_bytes((issued / source).read_bytes())
        (folder / "next").rename(folder / target)
    return {"certificate": str(folder / "used.pem"), "key": str(folder / "used.key")}


def shown(base: str, issued: Path, name: str) -> bool:
    """Whether the gateway shows this certificate to a new client."""
    address = urlsplit(base)
    context = ssl.create_default_context(cafile=str(issued / f"{name}.pem"))
    try:
        with (
            socket.create_connection((address.hostname, address.port), timeout=10) as plain,
            context.wrap_socket(plain, server_hostname="localhost"),
        ):
            return True
    except ssl.SSLCertVerificationError:
        return False


@contextmanager
def connected(base: str, issued: Path, name: str) -> Iterator[http.client.HTTPSConnection]:
    address = urlsplit(base)
    context = ssl.create_default_context(cafile=str(issued / f"{name}.pem"))
    with closing(http.client.HTTPSConnection("localhost", address.port, timeout=30, context=context)) as connection:
        yield connection


def health(connection: http.client.HTTPSConnection) -> int:
    connection.request("GET", "/health", headers={"Host": "localhost"})
    response = connection.getresponse()
    response.read()
    return response.status


def test_clients_call_over_tls_and_a_renewed_certificate_is_taken_up(issued: Path, tmp_path: Path) -> None:
    stub = write_stub(tmp_path, tools=[tool("add")], answers={"add": answer(TEXT)})
    with running({"up": stdio(stub)}, tmp_path, tls=put(issued, "first", tmp_path)) as gateway:
        assert gateway.base.startswith("https://127.0.0.1:")
        environment = os.environ | {"SSL_CERT_FILE": str(issued / "first.pem")}
        command = [*HANDFAST, "call", "up", "add", "--url", gateway.base]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (0, "fine\n"), done.stderr
        with connected(gateway.base, issued, "first") as old:
            assert health(old) == 200
            put(issued, "second", tmp_path)
            eventually(lambda: shown(gateway.base, issued, "second"), "the renewed certificate")
            assert health(old) == 200  # what was open goes on
            (tmp_path / "used.pem").write_text("half a cert")
            eventually(lambda: b"was refused" in b"".join(gateway.errors), "a line about it")
            assert shown(gateway.base, issued, "second")


def test_who_speaks_plainly_to_tls_is_dropped_and_nobody_else_is(issued: Path, tmp_path: Path) -> None:
    stub = write_stub(tmp_path, tools=[tool("add")])
    with running({"up": stdio(stub)}, tmp_path, tls=put(issued, "first", tmp_path)) as gateway:
        address = urlsplit(gateway.base)
        with connected(gateway.base, issued, "first") as good:
            assert health(good) == 200
            with socket.create_connection((address.hostname, address.port), timeout=10) as plain:
                plain.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
                assert b"HTTP/1.1 200" not in plain.recv(1000)
            assert health(good) == 200


WRONG = {
    "missing": ("none.pem", "none.key", "cannot be read"),
    "no PEM": ("words.pem", "first.key", "cannot be used"),
    "another's key": ("first.pem", "second.key", "cannot be used"),
    "a password": ("locked.pem", "locked.key", "cannot be used"),
}


@pytest.mark.parametrize(("certificate", "key", "said"), WRONG.values(), ids=WRONG.keys())
def test_files_that_cannot_be_used_are_one_line_at_the_start(
    issued: Path, tmp_path: Path, certificate: str, key: str, said: str
) -> None:
    with pytest.raises(TlsUnusable, match=said):
        Certificate(str(issued / certificate), str(issued / key))
    config = tmp_path / "handfast.json"
    tls = {"certificate": str(issued / certificate), "key": str(issued / key)}
    config.write_text(json.dumps({"mcpServers": {"up": {"command": "true"}}, "tls": tls}))
    flags = ["--config", str(config), "--listen", "127.0.0.1:0", "--state", str(tmp_path / "state")]
    done = subprocess.run([*HANDFAST, "serve", *flags], capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stderr.count("\n"), said in done.stderr) == (1, 1, True), done.stderr


def test_a_certificate_needs_its_key(tmp_path: Path) -> None:
    from handfast.gateway.settings import SettingsError, load_settings

    config = tmp_path / "handfast.json"
    config.write_text(json.dumps({"mcpServers": {"up": {"command": "true"}}, "tls": {"certificate": "a.pem"}}))
    with pytest.raises(SettingsError, match="tls needs both certificate and key"):
        load_settings(config, environ={})
