"""A server with a dispatcher, large results and an old name: `python -m tests.toolkit.directory`."""

from datetime import date
from typing import Any

from pydantic import BaseModel, Field

from handfast.toolkit import Args, Call, Page, Paging, Toolbox, ToolError, error_not_found

LAST_DAY = date(2999, 3, 1)


class NewContact(Args):
    email: str
    first_name: str = ""


class Which(Args):
    id: int


class HowMany(Args):
    count: int = Field(ge=0, le=2_000)
    size: int = Field(default=10, ge=0, le=1_000)


class HowManyPaged(Paging):
    count: int = Field(ge=0, le=2_000)


class Contact(BaseModel):
    id: int
    email: str
    note: str | None = None


class State(BaseModel):
    """A summary, never a dump."""

    contacts: int
    last_id: int | None


class Changed(BaseModel):
    """What every tool that changes something answers with."""

    state_after: State


class Created(Changed):
    contact: Contact


class Report(BaseModel):
    lines: dict[str, str]


def summarize(call: Call) -> State:
    return State(contacts=len(call.app), last_id=max(call.app, default=None))


def contact(number: int, size: int = 10) -> Contact:
    return Contact(id=number, email=f"{number}@example.org", note="é" * size if number % 2 else None)


def make_toolbox(
    envelope: str = "plain", *, piece_bytes: int = 2_000, hides_tools: bool = True, **more: Any
) -> Toolbox:
    tools = Toolbox("directory", envelope=envelope, app={}, **more)

    @tools.write
    async def create_contact(args: NewContact, call: Call) -> Created:
        """Create one contact. It gets the next id."""
        made = Contact(id=len(call.app) + 1, email=args.email)
        call.app[made.id] = made
        return Created(contact=made, state_after=summarize(call))

    @tools.read
    async def get_contact(args: Which, call: Call) -> Contact:
        """Read one contact."""
        if args.id not in call.app:
            raise error_not_found("There is no contact of this id.")
        found: Contact = call.app[args.id]
        return found

    @tools.admin
    async def delete_contact(args: Which, call: Call) -> Changed:
        """Delete one contact for good."""
        if call.app.pop(args.id, None) is None:
            raise ToolError("not_found", "There is no contact of this id.")
        return Changed(state_after=summarize(call))

    @tools.read(in_pieces=True, piece_bytes=piece_bytes)
    async def list_contacts(args: HowMany) -> list[Contact]:
        """List contacts."""
        return [contact(number, args.size) for number in range(args.count)]

    @tools.read(in_pieces=True, piece_bytes=piece_bytes)
    async def page_contacts(args: HowManyPaged) -> Page[Contact]:
        """List contacts in pages."""
        found = [contact(number) for number in range(args.offset, min(args.count, args.offset + args.limit))]
        return Page.of(found, args.count, args)

    @tools.read(in_pieces=True, piece_bytes=piece_bytes)
    async def report(args: HowMany) -> Report:
        """Report on everything."""
        return Report(lines={f"é{n}": "x" * args.size for n in range(args.count)})

    tools.dispatcher(
        "contacts",
        "Work with contacts.",
        actions={"create": "create_contact", "get": "get_contact", "delete": "delete_contact", "list": "list_contacts"},
        hides_tools=hides_tools,
    )
    tools.renamed("make_contact", to="create_contact", until=LAST_DAY)
    tools.renamed("everything", to="report", until=LAST_DAY)
    return tools


if __name__ == "__main__":
    make_toolbox().run()
