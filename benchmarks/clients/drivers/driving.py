"""What the drivers share: sessions in on stdin, and out on stdout what the client's user gets at each step.

In: a JSON list of {"target": URL or command line, "mode": how the official client begins, "steps": [...]}.
Out: a line for each, {"outcomes": [...], "revision": what was negotiated, if the library says it}.
Steps: {"list": true}, {"call": {"name": ..., "arguments": ...}}, {"watch": <the same, with its progress>},
{"resources": true}, {"read": URI}, {"prompts": true}, {"prompt": {"name": ..., "arguments": ...}}.
Runs in the environment of each client, so it knows no library: every driver imports only this.
"""

import asyncio
import json
import os
import sys

SESSION_SECONDS = 90.0  # one that hangs costs only itself


class Unsupported(Exception):
    """The library has no way to do this."""


class Session:
    """A session of a client; a driver overrides what its library can do."""

    revision = None

    async def tools(self):
        raise Unsupported

    async def call(self, _name, _arguments):
        raise Unsupported

    async def watch(self, _name, _arguments):
        raise Unsupported

    async def resources(self):
        raise Unsupported

    async def read(self, _uri):
        raise Unsupported

    async def prompts(self):
        raise Unsupported

    async def prompt(self, _name, _arguments):
        raise Unsupported


def tool(name, description, schema):
    return {"name": name, "description": description, "schema": plain(schema)}


def said(text, *, failed=False, data=None):
    """What a call gave: the text that a model reads, whether it is marked as a failure, and the result as data."""
    return {"says": text, "failed": bool(failed), **({} if data is None else {"data": plain(data)})}


def result(found):
    """The same of a `CallToolResult` of the SDK, whose fields were renamed in its second version."""
    failed = found.is_error if hasattr(found, "is_error") else found.isError
    data = getattr(found, "structured_content", None) or getattr(found, "structuredContent", None)
    return said(texts(found.content), failed=failed, data=data)


def texts(blocks):
    return "\n".join(getattr(block, "text", None) or f"[{block.type}]" for block in blocks)


def plain(value):
    """JSON of whatever a library gives."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", by_alias=True, exclude_none=True)
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


async def take(session, step):
    ((kind, what),) = step.items()
    if kind == "list":
        return await session.tools()
    if kind in ("call", "watch", "prompt"):
        return await getattr(session, kind)(what["name"], what.get("arguments") or {})
    if kind == "read":
        return await session.read(what)
    return await getattr(session, kind)()


async def outcome_of(session, step):
    try:
        return plain(await take(session, step))
    except Unsupported:
        return {"unsupported": True}
    except Exception as error:  # noqa: BLE001 - whatever a client raises is the step's outcome
        return failure(error)


def failure(error):
    """The innermost error: task groups wrap it, once per level."""
    while hasattr(error, "exceptions"):
        error = error.exceptions[0]
    return {"raised": type(error).__name__, "says": str(error)}


async def hold(open_session, wanted):
    outcomes, session = [], None
    where = {key: each for key, each in wanted.items() if key != "steps"}
    try:
        async with asyncio.timeout(SESSION_SECONDS), open_session(**where) as session:
            for step in wanted["steps"]:
                outcomes.append(await outcome_of(session, step))  # noqa: PERF401 - kept if a later one hangs
    except Exception as error:  # noqa: BLE001 - it did not connect, or not close: that is the outcome
        outcomes.append(failure(error))
    return {"outcomes": outcomes, "revision": session and session.revision}


def run(open_session):
    """`open_session(target, mode)` is an asynchronous context manager that gives a `Session`."""
    # Libraries print where they like: what is read there is written to the real stdout, and theirs goes to stderr.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for wanted in json.load(sys.stdin):
        print(json.dumps(asyncio.run(hold(open_session, wanted))), file=answers, flush=True)
    # Some leave threads behind that would keep the process for ever.
    os._exit(0)
