"""A small server in both forms, and handlers that go wrong in every way: `python -m tests.toolkit.contacts`."""

import asyncio
import json
import time
from datetime import date
from typing import Any

from pydantic import BaseModel

from handfast.toolkit import Args, Call, Toolbox, ToolError, ToolResult, admin_tool, error_not_found, read_tool


class Address(Args):
    city: str
    zip: int = 0


class NewContact(Args):
    email: str
    first_name: str = ""
    born: date | None = None
    address: Address | None = None


class Contact(BaseModel):
    id: int
    email: str
    born: date | None = None
    score: float | None = 0.5


class Which(Args):
    id: int


class Deleted(BaseModel):
    id: int
    reason: str
    by: str


class Wrong(Args):
    how: str


def make_toolbox(envelope: str = "plain", **more: Any) -> Toolbox:
    tools = Toolbox("contacts", envelope=envelope, codes=["quota_error"], app={}, **more)

    @tools.write
    async def create_contact(args: NewContact, call: Call) -> Contact:
        """Create one contact."""
        number = len(call.app) + 1
        call.app[number] = args.model_dump()
        return Contact(id=number, email=args.email, born=args.born)

    @tools.read
    def get_contact(args: Which, call: Call) -> Contact:
        """Read one contact."""
        if args.id not in call.app:
            raise error_not_found("There is no contact of this id. List them and choose another.", id=args.id)
        return Contact(id=args.id, email=call.app[args.id]["email"])

    @tools.read
    async def count_contacts(call: Call) -> int:
        """Count the contacts."""
        await call.progress(1, 1, "counted")
        return len(call.app)

    @tools.admin
    async def delete_contact(args: Which, call: Call) -> Deleted:
        """Delete one contact for good."""
        if call.app.pop(args.id, None) is None:
            raise ToolError("not_found", "There is no contact of this id.")
        return Deleted(id=args.id, reason=call.reason, by=call.actor.id)

    @tools.read(returns=Contact)
    async def fail_softly() -> ToolResult:
        """Say how it ended instead of raising."""
        return ToolResult.fail(ToolError("quota_error", "The quota is used up. Try again tomorrow.", {"left": 0}))

    @tools.write(timeout_s=0.2)
    async def go_wrong(args: Wrong) -> Contact:
        """Go wrong in the way that is asked for."""
        answer: Contact = await _go_wrong(args.how)  # as its author believes
        return answer

    tools.add(admin_tool("purge", "Remove everything.", handler=_purge, args_model=Which))
    tools.add(read_tool("echo", "Say it again.", handler=_echo, input_schema=ECHO))
    return tools


ECHO = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "times": {"type": "integer", "minimum": 1, "maximum": 100}},
    "required": ["text"],
    "additionalProperties": False,
}


async def _purge(*, app_state: Any, arguments: dict[str, Any], actor: Any = None) -> str:
    return json.dumps({"status": "ok", "data": {"arguments": arguments, "by": actor.id, "left": len(app_state)}})


async def _echo(*, app_state: Any, arguments: dict[str, Any], actor: Any = None) -> str:
    said = arguments["text"] * arguments.get("times", 1)
    arguments.clear()  # a handler may do with its copy what it likes
    return json.dumps({"status": "ok", "data": said})


SECRET = "hunter2-should-never-be-seen"


async def _go_wrong(how: str) -> Any:
    if how == "raise":
        raise KeyError(SECRET)
    if how == "undeclared":
        raise ToolError("nobodys_code", SECRET)
    if how == "hang":
        await asyncio.Event().wait()
    if how == "block":
        await asyncio.to_thread(time.sleep, 0.5)
    odd: dict[str, Any] = {
        "type": SECRET,
        "shape": {"id": "x", "email": SECRET},
        "nan": Contact(id=1, email="e", score=float("nan")),
        "surrogate": Contact.model_construct(id=1, email="\ud800"),
        "object": object(),
        "huge": Contact(id=1, email="x" * 50_000_000),
        "deep": None,
        "dict": {"id": 1, "email": "e"},
    }
    if how == "itself":
        odd["itself"] = loop = []  # type: ignore[var-annotated]  # a list of itself has no type
        loop.append(loop)
    if how == "details":
        raise ToolError("conflict", "It is taken.", {"who": object(), "nan": float("nan")})
    return odd[how]


if __name__ == "__main__":
    make_toolbox().run()
