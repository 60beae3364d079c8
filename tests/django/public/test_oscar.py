"""django-oscar-api: a shop's products are listed, created with all that is nested in them, and read back."""

import asyncio

import pytest
from mcp import MCPError

from tests.django.public.running import Served

pytestmark = pytest.mark.parametrize(
    "served", [("oscar", "sqlite"), ("oscar", "postgresql")], indirect=True, ids=["sqlite", "postgresql"]
)

BOOK = {
    "product_class": "book",
    "slug": "moby-dick",
    "title": "Moby-Dick",
    "upc": "9780000000001",
    "categories": ["Books > Novels"],
    "stockrecords": [
        {"partner": {"code": "harbour"}, "partner_sku": "md-1", "price": "9.99", "num_in_stock": 3},
    ],
}


def test_every_generic_view_of_it_is_a_tool(served: Served) -> None:
    async def drive() -> None:
        async with served.client() as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
        assert len(names) == 94
        # What its views share urls with is left out by settings, and a view that only calls its base keeps its action.
        assert {"admin__products__update", "categories__list", "admin__categories__create"} <= set(names)
        assert {"baskets__lines__create", "users__retrieve", "products__price__get"} <= set(names)

    asyncio.run(drive())
    assert {problem for problem, _ in served.problems} == {"FIELD_OPEN", "OUTPUT_REWRITTEN", "LEFT_OUT", "RESULT_OPEN"}


def test_a_product_is_created_with_all_that_is_nested_in_it_and_read_back(served: Served) -> None:
    async def drive() -> None:
        async with served.client() as client:
            made = await client.call_tool("admin__products__create", {**BOOK, "slug": "first", "upc": "1"})
            assert not made.is_error, made.content
            product = made.structured_content
            (stock,) = product["stockrecords"]
            assert (product["title"], product["product_class"], product["categories"]) == (
                "Moby-Dick",
                "book",
                ["Books > Novels"],
            )
            assert {name: stock[name] for name in ("partner_sku", "price", "num_in_stock")} == {
                "partner_sku": "md-1",
                "price": "9.99",
                "num_in_stock": 3,
            }
            found = await client.call_tool("admin__products__retrieve", {"id": product["id"]})
            assert found.structured_content == product
            listed = await client.call_tool("products__list", {})
            assert product["id"] in [each["id"] for each in listed.structured_content["result"]]
            price = await client.call_tool("products__price__get", {"pk": product["id"]})
            assert "9.99" in price.content[0].text  # type: ignore[union-attr]  # of what it says itself

    asyncio.run(drive())


def test_what_an_agent_changes_is_what_it_said_and_no_more(served: Served) -> None:
    async def drive() -> None:
        async with served.client() as client:
            sent = {"name": "Quay Press", "code": "quay", "users": []}
            made = await client.call_tool("admin__partners__create", sent)
            # The shop makes the code itself and would not have said that it dropped this one.
            assert [block.text for block in made.content[1:]] == ["Ignored arguments: code"]  # type: ignore[union-attr]  # as above
            partner = made.structured_content
            assert {name: partner[name] for name in sent} == {**sent, "code": "quay-press"}
            key = int(partner["url"].split("/")[-2])
            changed = await client.call_tool("admin__partners__partial_update", {"id": key, "name": "Quay"})
            assert changed.structured_content == {**partner, "name": "Quay"}
            gone = await client.call_tool("admin__partners__destroy", {"id": key})
            again = await client.call_tool("admin__partners__retrieve", {"id": key})
            assert (gone.is_error, again.is_error) == (False, True)

    asyncio.run(drive())


def test_several_addresses_are_stored_or_none(served: Served) -> None:
    def address(line: str, country: object) -> dict[str, object]:
        return {"first_name": "Ada", "last_name": "Vos", "line1": line, "line4": "Delft", "country": country}

    async def drive() -> None:
        async with served.client() as client:
            good = [address("Quay 1", {"name": "Netherlands"}), address("Quay 2", "/api/countries/NL/")]
            made = await client.call_tool("useraddresses__create", {"objects": good})
            assert [each["line1"] for each in made.structured_content["result"]] == ["Quay 1", "Quay 2"]
            bad = [address("Quay 3", {"name": "Netherlands"}), address("Quay 4", {"name": "Atlantis"})]
            refused = await client.call_tool("useraddresses__create", {"objects": bad})
            assert refused.content[0].text == (  # type: ignore[union-attr]  # as above
                "Nothing was stored: 1 of 2 objects refused. objects[1].country: no Country was found by 'name'."
                " Correct them and send all of them again. [invalid_input]"
            )

    asyncio.run(drive())
    assert served.count("address_useraddress") == 2


def test_a_wrapped_product_is_refused_and_nothing_is_stored(served: Served) -> None:
    async def drive() -> None:
        async with served.client() as client:
            for wrapped in ({"data": BOOK}, {"product": BOOK}, {**BOOK, "attributes_by_name": {"pages": 635}}):
                with pytest.raises(
                    MCPError, match="is not a declared field and its value is a nested object"
                ) as refused:
                    await client.call_tool("admin__products__create", wrapped)
                assert refused.value.error.code == -32602

    tables = ("catalogue_product", "partner_stockrecord", "catalogue_category")
    before = [served.count(table) for table in tables]
    asyncio.run(drive())
    assert [served.count(table) for table in tables] == before


def test_every_tool_that_only_reads_keeps_its_promise(served: Served) -> None:
    async def drive() -> None:
        async with served.client() as client:
            await client.call_tool("admin__products__create", {**BOOK, "slug": "second", "upc": "2"})
            for tool in (await client.list_tools()).tools:
                if tool.annotations is None or not tool.annotations.read_only_hint:
                    continue
                asked = {name: KEYS.get(name, 1) for name in tool.input_schema.get("required", ())}
                answer = await client.call_tool(tool.name, asked)
                assert not answer.is_error or (answer.meta or {})["handfast/code"] == "not_found", (
                    tool.name,
                    answer.content,
                )

    asyncio.run(drive())


KEYS = {"slug": "book", "iso_3166_1_a2": "NL"}
