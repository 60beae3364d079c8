"""Wagtail: the pages of a site that lives behind a router of its own kind are listed and read."""

import asyncio

import pytest

from tests.django.public.running import Served

pytestmark = pytest.mark.parametrize("served", [("wagtail", "sqlite")], indirect=True, ids=["sqlite"])


def test_its_endpoints_are_tools_that_only_read(served: Served) -> None:
    async def drive() -> None:
        async with served.client(None) as client:
            tools = (await client.list_tools()).tools
        assert {tool.name for tool in tools} == {
            *(
                f"{kind}__{view}"
                for kind in ("pages", "images", "documents")
                for view in ("listing_view", "detail_view")
            ),
            *(f"{kind}__find__find_view" for kind in ("pages", "images", "documents")),
        }
        assert all(tool.annotations is not None and tool.annotations.read_only_hint for tool in tools)

    asyncio.run(drive())


def test_its_pages_are_listed_and_read(served: Served) -> None:
    async def drive() -> None:
        async with served.client(None) as client:
            listed = await client.call_tool("pages__listing_view", {})
            assert not listed.is_error, listed.content
            pages = listed.structured_content["result"]
            assert pages["meta"]["total_count"] == 19
            for page in pages["items"]:
                read = await client.call_tool("pages__detail_view", {"pk": page["id"]})
                assert (read.is_error, read.structured_content["result"]["title"]) == (False, page["title"])
            missing = await client.call_tool("pages__detail_view", {"pk": 4711})
            assert (missing.is_error, (missing.meta or {})["handfast/code"]) == (True, "not_found")

    asyncio.run(drive())


def test_what_only_its_code_reads_from_the_query_can_be_asked_for(served: Served) -> None:
    async def drive() -> None:
        async with served.client(None) as client:

            async def titles(**asked: object) -> list[str]:
                listed = await client.call_tool("pages__listing_view", asked)
                assert not listed.is_error, listed.content
                return [page["title"] for page in listed.structured_content["result"]["items"]]

            every = await titles(order="id", limit=20)
            assert (len(every), await titles(order="id", limit=2, offset=1)) == (19, every[1:3])
            events = await titles(type="demosite.EventPage")
            assert 0 < len(events) < 19
            refused = await client.call_tool("pages__listing_view", {"order": "nothing"})
            assert refused.is_error

    asyncio.run(drive())
