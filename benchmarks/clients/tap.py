"""A tap on the way to the gateway: passes every byte on, and notes which protocol revision the two settled on."""

import contextlib
import re
import socket
import threading
from urllib.parse import urlsplit

# Since 2025-06-18 a client says it with every request; what an older one settled on stands in its handshake alone.
_IN_HEADER = re.compile(rb"(?i)\r\nmcp-protocol-version: *([\d-]+)\r\n")
_IN_HANDSHAKE = re.compile(rb'"protocolVersion": ?"([\d-]+)"')
_KEPT = 200  # bytes, in case a read ends within what is looked for


class Tap:
    """Listens on a port of its own; `url` is the gateway's address by way of it."""

    def __init__(self, base: str) -> None:
        where = urlsplit(base)
        assert where.hostname is not None
        assert where.port is not None
        self._target = (where.hostname, where.port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._in_header = self._in_handshake = ""
        threading.Thread(target=self._accept, daemon=True).start()

    def take_revision(self) -> str:
        """What was settled on last, since it was last asked for."""
        found = self._in_header or self._in_handshake
        self._in_header = self._in_handshake = ""
        return found

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # or its thread would wait for ever
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return  # closed
            threading.Thread(target=self._join, args=(client,), daemon=True).start()

    def _join(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError), socket.create_connection(self._target) as gateway:
            for end in (client, gateway):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # or what comes in two parts waits 40 ms
            back = threading.Thread(target=self._pass_on, args=(gateway, client, False), daemon=True)
            back.start()
            self._pass_on(client, gateway, True)
            back.join()

    def _pass_on(self, source: socket.socket, sink: socket.socket, is_from_client: bool) -> None:
        kept = b""
        try:
            while read := source.recv(65536):
                self._look(kept + read, is_from_client)  # first: who gets an answer may ask at once
                kept = (kept + read)[-_KEPT:]
                sink.sendall(read)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            # One side broke off: the other must hear of it, as it would without the tap.
            for end in (source, sink):
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def _look(self, seen: bytes, is_from_client: bool) -> None:
        found = (_IN_HEADER if is_from_client else _IN_HANDSHAKE).findall(seen)
        if found and is_from_client:
            self._in_header = found[-1].decode()
        elif found:
            self._in_handshake = found[-1].decode()
