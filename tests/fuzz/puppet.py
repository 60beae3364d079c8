"""A stdio server without a will of its own: what comes in goes to a socket, what the socket says goes out."""

import os
import select
import socket
import sys


def main(path: str, name: str) -> None:
    wire = socket.socket(socket.AF_UNIX)
    wire.connect(path)
    wire.sendall(name.encode() + b"\n")
    while True:
        ready, _, _ = select.select([0, wire.fileno()], [], [])
        for source in ready:
            data = os.read(source, 65536)
            if not data:
                return
            if source == 0:
                wire.sendall(data)
                continue
            while data:
                data = data[os.write(1, data) :]


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
