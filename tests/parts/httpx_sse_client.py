"""httpx-sse, headless: requests in, what it reads out. Run by .parts/py/bin/python.

Requests, a JSON list on stdin, one line out for each, the data of its events: {"method": ..., "url": ..., "headers":
{...}, "body": ..., "until": text of the event after which it leaves a stream that does not end}.
"""

import json
import sys
from typing import Any  # requests are JSON

import httpx
from httpx_sse import connect_sse


def read(client: Any, asked: dict[str, Any]) -> list[str]:  # Any: a client of httpx, and JSON
    found: list[str] = []
    body = asked.get("body")
    with connect_sse(client, asked["method"], asked["url"], headers=asked["headers"], content=body) as source:
        for event in source.iter_sse():
            if event.data:
                found.append(event.data)
            if asked.get("until") and asked["until"] in event.data:
                break
    return found


def main() -> None:
    with httpx.Client(timeout=20, trust_env=False) as client:
        for asked in json.load(sys.stdin):
            print(json.dumps(read(client, asked)), flush=True)


if __name__ == "__main__":
    main()
