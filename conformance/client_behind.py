"""A client with handfast before it: python -m conformance.client_behind COMMAND… URL, the URL being the server's."""

import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import FrameType
from typing import NoReturn

from conformance.servers import gateway_url, running_gateway


def main(arguments: list[str]) -> int:
    *client, url = arguments
    signal.signal(signal.SIGTERM, _leave)
    with (
        tempfile.TemporaryDirectory(prefix="conformance-") as folder,
        running_gateway({"url": url}, Path(folder)) as gateway,
    ):
        return subprocess.run([*client, gateway_url(gateway)], check=False).returncode


def _leave(_number: int, _frame: FrameType | None) -> NoReturn:
    """The suite ends a client that takes too long; what it started must end with it."""
    raise SystemExit(143)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
