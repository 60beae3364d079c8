"""A whole session with the example: every tool it has is called, and every one succeeds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from mcp import Client

from tests.examples.contacts.asking import DOORS, Json, require

GUARDS: Final[Json] = {"confirm": True, "reason": "They asked for it"}


@dataclass(frozen=True, slots=True)
class Life:
    """What a record is made with, replaced by, and corrected with."""

    new: Json
    replaced: Json
    corrected: Json


LIVES: Final[Mapping[str, Life]] = {
    "companies": Life({"name": "Difference & Sons"}, {"name": "Difference"}, {"website": "https://difference.example"}),
    "tags": Life({"name": "fair"}, {"name": "fairs"}, {"name": "fair-2026"}),
    "contacts": Life(
        {"email": "joan@example.net", "company": "Orbit & Co", "tags": ["vip"], "phones": [{"number": "+44 1"}]},
        {"email": "joan@example.net", "first_name": "Joan", "last_name": "Clarke", "company": None},
        {"notes": "Writes in cipher — 暗号", "status": "partner", "phones": []},
    ),
    "dcim__sites": Life({"name": "attic"}, {"name": "attic", "units": 12}, {"region": "south", "address": "Above us"}),
    "dcim__device-types": Life(
        {"manufacturer": "Acme", "model": "T1"}, {"manufacturer": "Acme", "model": "T2", "height": 4}, {"height": 1}
    ),
    "dcim__devices": Life(
        {"name": "t-1", "site": {"name": "hq-2"}, "device_type": {"manufacturer": "Dell", "model": "R760"}},
        {"name": "t-1", "site": "lab-1", "device_type": {"model": "EX4300"}, "price": "19.99", "asset_tag": "A-1"},
        {"status": "active", "installed": "2026-03-01", "settings": {"vlan": [1, 2.5, None, {"on": True}]}},
    ),
}


class Session:
    """One client's calls, and which tools they were of."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.called: set[str] = set()

    async def call(self, tool: str, arguments: Json) -> Json:
        """A call that may write, and so is made once."""
        self.called.add(tool)
        return await require(self.client, tool, arguments)

    async def read(self, tool: str, arguments: Json) -> Json:
        """A call that only reads, through every door: the same answer whichever way it is asked for."""
        answers = [await require(self.client, tool, arguments, door=door) for door in DOORS]
        self.called |= {tool, tool.rpartition("__")[0]}
        assert answers[0] == answers[1]
        return answers[0]


async def hold(client: Client) -> set[str]:
    """Call everything, and leave the tables as they were; returns the tools that were called."""
    session = Session(client)
    for resource, life in LIVES.items():
        await _live(session, resource, life)
    await _erase(session)
    await _many(session)
    found = await session.call("dcim__capacity", {"region": "south"})
    assert [site["site"] for site in found["sites"]] == ["lab-1"]
    return session.called


async def _live(session: Session, resource: str, life: Life) -> None:
    made = await session.call(f"{resource}__create", life.new)
    which = {"id": made["id"]}
    await session.call(f"{resource}__update", which | life.replaced)
    corrected = await session.call(f"{resource}__partial_update", which | life.corrected)
    assert {name: corrected[name] for name in life.corrected} == life.corrected
    assert await session.read(f"{resource}__retrieve", which) == corrected
    page = await session.read(f"{resource}__list", {"page_size": 100})
    assert corrected in page["results"]
    if resource == "contacts":
        archived = await session.call("contacts__archive", which)
        assert archived["archived_at"] is not None
    await session.call(f"{resource}__destroy", which)


async def _erase(session: Session) -> None:
    made = await session.call("contacts__create", {"first_name": "Gone", "phones": [{"number": "1"}, {"number": "2"}]})
    erased = await session.call("contacts__erase", {"id": made["id"], **GUARDS})
    assert erased == {"erased": made["id"], "phones": 2}


async def _many(session: Session) -> None:
    """Several at once, and a list narrowed to what an agent needs of it."""
    items = [{"last_name": "Of many", "email": f"{n}@many.example"} for n in range(3)]
    made = (await session.call("contacts__create", {"objects": items}))["result"]
    asked = {"search": "many", "ordering": ["email"], "page_size": 2, "filter_keys": ["email"]}
    listed = await session.read("contacts__list", asked)
    assert listed["results"] == [{"email": item["email"]} for item in items[:2]]
    found = await session.read("contacts__list", {"search": "many", "filters": {"email": "2@many.example"}})
    assert [row["id"] for row in found["results"]] == [made[2]["id"]]
    for row in made:
        await session.call("contacts__destroy", {"id": row["id"]})
