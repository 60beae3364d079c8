"""What httpx and httpx-sse make of a response, as clients use them; runs where those are installed.

One line of JSON in: a list of jobs; one line out: for each job the list of the texts that it found.
"""

import base64
import json
import sys
from collections.abc import Iterator
from typing import Any  # Any: JSON

import httpx
from httpx_sse import EventSource


class Pieces(httpx.SyncByteStream):  # type: ignore[misc]  # installed elsewhere, so its type is not known
    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = pieces

    def __iter__(self) -> Iterator[bytes]:
        yield from self._pieces


def read(job: dict[str, Any]) -> list[str]:
    pieces = [base64.b64decode(piece) for piece in job["pieces"]]
    headers = [(base64.b64decode(name), base64.b64decode(value)) for name, value in job["headers"]]
    found: list[str] = []
    try:
        response = httpx.Response(200, headers=headers, stream=Pieces(pieces))
        if job["kind"] == "events":
            found += (event.data for event in EventSource(response).iter_sse())
        else:
            response.read()
            found.append(response.text)
    except Exception:  # noqa: BLE001 - what it cannot read it does not find
        pass
    return found


def main() -> None:
    for line in sys.stdin:
        print(json.dumps([read(job) for job in json.loads(line)]), flush=True)


if __name__ == "__main__":
    main()
