"""The service: the rule of flat arguments in front of real views and a real table, directly and through dispatchers."""

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.test import RequestFactory, override_settings

from handfast.activity.query import RecordFilter
from handfast.activity.sqlite import SqliteStore
from handfast.core.answers.outcome import Succeeded
from handfast.core.call.exchange import RecordType
from handfast.django.access import ApiCaller, identify_caller, issue
from handfast.django.service.service import Service, UnknownTool, forget_service, service
from handfast.toolkit.running.dispatch import Answer
from tests.django.project.models import Contact, Device, Site, Tag

FLAT = {"email": "agent@example.com", "first_name": "Agent"}
NAMES = '"email", "first_name"'
FIELDS = ["email", "first_name", "last_name", "notes", "status", "password"]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    with override_settings(HANDFAST={"NAME": "crm", "ACTIVITY": tmp_path, "DISPATCHERS": "resources"}):
        yield tmp_path


@pytest.fixture
def crm(folder: Path, database: None) -> Iterator[Service]:
    yield service()
    forget_service()


def request(**headers: str) -> HttpRequest:
    return RequestFactory(headers=headers).post("/mcp/", b"{}", content_type="application/json")


def caller(**headers: str) -> ApiCaller:
    return identify_caller(request(**headers))


def call(crm: Service, name: str, arguments: object, who: ApiCaller | None = None) -> Answer:
    return crm.call(name, json.dumps(arguments).encode(), who or caller())


def through(way: str, arguments: object) -> tuple[str, object]:
    """A call of `contacts__create`: as itself, or as an action of the dispatcher of its resource."""
    if way == "directly":
        return "contacts__create", arguments
    return "contacts", {"action": "create", "arguments": arguments}


WAYS = pytest.mark.parametrize("way", ["directly", "by dispatcher"])


@pytest.mark.requirement("000-20")
@pytest.mark.requirement("T1")
@WAYS
def test_flat_arguments_store_the_right_fields(crm: Service, way: str) -> None:
    answer = call(crm, *through(way, FLAT))
    assert isinstance(answer.outcome, Succeeded)
    row = Contact.objects.get()
    assert (row.email, row.first_name, row.notes) == ("agent@example.com", "Agent", "")
    assert answer.payload is not None
    assert answer.payload["id"] == row.pk
    assert list(answer.blocks) == []


@pytest.mark.requirement("000-1")
@pytest.mark.requirement("000-3")
@pytest.mark.requirement("000-5")
@pytest.mark.requirement("000-8")
@pytest.mark.requirement("000-10")
@pytest.mark.requirement("000-13")
@pytest.mark.requirement("T2")
@WAYS
@pytest.mark.parametrize("key", ["data", "payload", "config", "anything"])
def test_a_wrapped_payload_is_refused_and_no_row_is_there(crm: Service, way: str, key: str) -> None:
    answer = call(crm, *through(way, {key: FLAT}))
    assert answer.is_refused
    assert answer.text == (
        f"Argument '{key}' is not a declared field and its value is a nested object.\n"
        "Likely cause: REST-style wrapper — send fields flat at the top level.\n"
        f"Unwrap '{key}': send {NAMES} directly, not inside \"{key}\".\n"
        f"Declared fields: [{', '.join(map(json.dumps, FIELDS))}]."
    )
    assert Contact.objects.count() == 0


@pytest.mark.requirement("000-2")
@pytest.mark.requirement("000-14")
@WAYS
@pytest.mark.parametrize(
    ("arguments", "first"),
    [
        ({**FLAT, "data": {"notes": "nested field"}}, "Argument 'data' is"),
        ({**FLAT, "config": {}}, "Argument 'config' is"),
        ({"objects": [{"data": FLAT}]}, "Argument 'objects[0].data' is"),
        ({"data": [FLAT, {**FLAT, "email": "b@example.com", "more": {"notes": "x"}}]}, "Argument 'data[1].more' is"),
        ({"objects": [FLAT], "data": FLAT}, "Argument 'data' is"),
    ],
    ids=["mixed", "empty", "inside a list", "beside fields in a list", "beside a list"],
)
def test_no_other_shape_loses_data_either(crm: Service, way: str, arguments: object, first: str) -> None:
    answer = call(crm, *through(way, arguments))
    assert answer.is_refused
    assert answer.text.startswith(first)
    assert Contact.objects.count() == 0


@pytest.mark.requirement("000-12")
@pytest.mark.parametrize("beside", ["data", "payload"])
def test_what_stands_beside_an_action_is_refused_with_the_fields_of_its_tool(crm: Service, beside: str) -> None:
    answer = call(crm, "contacts", {"action": "create", beside: FLAT})
    assert answer.is_refused
    assert answer.text.startswith(f"Argument '{beside}' is not a declared field")
    assert '"first_name"' in answer.text
    assert Contact.objects.count() == 0


@pytest.mark.requirement("000-11")
@pytest.mark.requirement("000-16")
@pytest.mark.requirement("T3")
@WAYS
@pytest.mark.parametrize("key", ["objects", "data"])
def test_a_list_creates_a_row_for_each(crm: Service, way: str, key: str) -> None:
    several = [{**FLAT, "email": f"{number}@example.com"} for number in range(3)]
    answer = call(crm, *through(way, {key: several}))
    assert answer.payload is not None
    assert [row["email"] for row in answer.payload["result"]] == [row["email"] for row in several]
    assert Contact.objects.count() == 3


@WAYS
def test_a_list_beside_the_fields_of_one_row_is_refused(crm: Service, way: str) -> None:
    """The schema offers both; one of the two would be dropped."""
    answer = call(crm, *through(way, {**FLAT, "objects": [{**FLAT, "email": "b@example.com"}]}))
    assert answer.is_error
    assert answer.text.startswith("'objects' holds several objects, and there are fields beside it.")
    assert Contact.objects.count() == 0


def test_one_wrong_row_of_a_list_stores_none_and_says_which(crm: Service) -> None:
    several = [FLAT, {**FLAT, "email": "no address"}]
    answer = call(crm, "contacts__create", {"objects": several})
    assert (answer.is_error, answer.is_refused) == (True, False)
    assert "objects[1].email" in answer.text
    assert Contact.objects.count() == 0


@pytest.mark.requirement("000-15")
@pytest.mark.requirement("T4")
@pytest.mark.parametrize("site", [{"name": "hq-1"}, {"slug": "hq"}, "hq-1", None], ids=str)
def test_a_foreign_key_is_found_by_what_identifies_its_row(crm: Service, site: object) -> None:
    place = Site.objects.create(name="hq-1", slug="hq")
    answer = call(crm, "dcim__devices__create", {"name": "sw-1", "site": place.pk if site is None else site})
    assert isinstance(answer.outcome, Succeeded), answer.text
    assert Device.objects.get().site == place


@pytest.mark.requirement("000-6")
@pytest.mark.requirement("000-20")
def test_what_is_passed_over_is_named(crm: Service) -> None:
    answer = call(crm, "contacts__create", {**FLAT, "bogus": 1, "more": ["x"]})
    assert not answer.is_error
    assert [getattr(block, "text", "") for block in answer.blocks] == ["Ignored arguments: bogus, more"]
    with override_settings(HANDFAST={"ACTIVITY": "off", "UNKNOWN_ARGUMENTS": "reject_all"}):
        refused = call(service(), "contacts__create", {**FLAT, "email": "b@example.com", "bogus": 1})
        assert refused.is_refused
        assert refused.text.startswith("Argument 'bogus' is not a declared field.")
    assert Contact.objects.count() == 1


@pytest.mark.requirement("000-7")
def test_reads_are_held_to_it_too(crm: Service) -> None:
    assert call(crm, "contacts__list", {"filter": {"email": "a"}}).is_refused
    assert call(crm, "contacts__retrieve", {"id": 1, "data": {}}).is_refused


@pytest.mark.requirement("000-18")
def test_a_field_that_takes_an_object_takes_it(crm: Service) -> None:
    Site.objects.create(name="hq-1", slug="hq")
    settings = {"vlan": {"id": 3}}
    answer = call(crm, "dcim__devices__create", {"name": "sw-1", "site": "hq-1", "settings": settings})
    assert isinstance(answer.outcome, Succeeded), answer.text
    assert Device.objects.get().settings == settings
    assert call(crm, "dcim__devices__create", {"name": "sw-2", "site": "hq-1", "config": settings}).is_refused


@WAYS
@pytest.mark.parametrize("number", ["1e400", "-1e400", "9" * 5_000], ids=["large", "small", "long"])
def test_a_number_that_nobody_can_hold_is_refused_and_not_stored_as_another(
    crm: Service, way: str, number: str
) -> None:
    Site.objects.create(name="hq-1", slug="hq")
    arguments = f'{{"name": "sw-1", "site": "hq-1", "settings": {{"most": {number}}}}}'
    name, text = "dcim__devices__create", arguments
    if way == "by dispatcher":
        name, text = "dcim__devices", f'{{"action": "create", "arguments": {arguments}}}'
    answer = crm.call(name, text.encode(), caller())
    assert answer.is_refused
    assert "a number beyond the range of a double" in answer.text
    assert Device.objects.count() == 0


@pytest.mark.parametrize("number", ["18446744073709551616", "9" * 300, "1e300", "0.1e1", "-5e-324"])
def test_a_number_that_can_be_held_is_stored_as_it_is(crm: Service, number: str) -> None:
    Site.objects.create(name="hq-1", slug="hq")
    arguments = f'{{"name": "sw-1", "site": "hq-1", "settings": {{"most": {number}}}}}'
    answer = crm.call("dcim__devices__create", arguments.encode(), caller())
    assert isinstance(answer.outcome, Succeeded), answer.text
    (stored,) = Device.objects.get().settings.values()
    assert Decimal(str(stored)) == Decimal(number)  # PostgreSQL writes out all the digits of 1e300


def test_nothing_is_stored_that_is_too_deep_to_be_read_again(crm: Service) -> None:
    """One such row would block every list that it is in, for everybody."""
    Site.objects.create(name="hq-1", slug="hq")

    def nested(levels: int) -> dict[str, object]:
        value: object = 1
        for _ in range(levels):
            value = [value]
        return {"name": f"sw-{levels}", "site": "hq-1", "settings": value}

    for arguments in (nested(48), {"objects": [nested(48)]}):
        refused = call(crm, "dcim__devices__create", arguments)
        assert (refused.is_error, Device.objects.count()) == (True, 0)
        assert "nested deeper than 48 levels" in refused.text
    stored = call(crm, "dcim__devices__create", nested(47))
    assert isinstance(stored.outcome, Succeeded), stored.text
    listed = call(crm, "dcim__devices__list", {})
    assert isinstance(listed.outcome, Succeeded), listed.text


def test_a_dispatcher_is_as_dangerous_as_the_worst_of_its_actions(crm: Service) -> None:
    """By its annotations clients ask their users, and scopes of a gateway's tokens let a call through."""
    said = {entry["name"]: entry["annotations"] for entry in crm.registry.published()}
    assert said["contacts__destroy"]["destructiveHint"]
    assert said["contacts"] == {
        "readOnlyHint": False,
        "destructiveHint": True,
        "idempotentHint": False,
        "openWorldHint": False,
    }


@pytest.mark.requirement("000-19")
def test_schemas_are_never_closed_and_there_is_no_way_out(crm: Service) -> None:
    views = [entry for entry in crm.registry.published() if entry["name"] in crm.views]
    assert len(views) == len(crm.views)
    assert [entry["name"] for entry in views if "additionalProperties" in entry["inputSchema"]] == []


@pytest.mark.requirement("000-17")
@pytest.mark.requirement("000-9")
def test_the_protocols_arguments_never_reach_a_view_unless_it_declares_them(crm: Service) -> None:
    for number in range(3):
        call(crm, "contacts__create", {**FLAT, "email": f"{number}@example.com"})
    page = call(crm, "contacts__list", {"page": 2, "page_size": 2})  # the API's own
    assert page.payload is not None
    assert [row["email"] for row in page.payload["results"]] == ["2@example.com"]
    narrowed = call(crm, "contacts__list", {"filters": {"email": "1@example.com"}, "filter_keys": ["email"]})
    assert narrowed.payload is not None
    assert narrowed.payload["results"] == [{"email": "1@example.com"}]
    told = call(crm, "contacts__create", {"help": True})
    assert "Nothing was run" in told.text
    assert Contact.objects.count() == 3


def test_filters_that_saw_one_page_of_several_say_so(crm: Service) -> None:
    """Nothing found on a page is not nothing found."""
    for number in range(3):
        call(crm, "contacts__create", {**FLAT, "email": f"{number}@example.com"})
    wanted = {"filters": {"email": "2@example.com"}}
    told = "Only this page was looked at, and there are others. Search, or turn pages, with the tool's own parameters."
    for page, rows in ((1, []), (2, ["2@example.com"])):
        answer = call(crm, "contacts__list", {"page": page, "page_size": 2, **wanted})
        assert answer.payload is not None
        assert [row["email"] for row in answer.payload["results"]] == rows
        assert [getattr(block, "text", "") for block in answer.blocks] == [told]
    assert call(crm, "contacts__list", wanted).blocks == ()
    assert call(crm, "contacts__list", {"page_size": 2, "filter_keys": ["email"]}).blocks == ()


def test_a_large_list_comes_in_pieces_that_belong_to_whoever_asked(folder: Path, database: None) -> None:
    ada, bob = (User.objects.create_user(username=name) for name in ("ada", "bob"))
    tokens = [issue(user, name=user.get_username(), scopes="*")[1] for user in (ada, bob)]
    who, other = (f"Bearer {token}" for token in tokens)
    with override_settings(HANDFAST={"ACTIVITY": "off", "PIECE_BYTES": 1000}):
        crm = service()
        call(crm, "contacts__create", {"objects": [{**FLAT, "email": f"{n}@example.com"} for n in range(30)]})
        first = call(crm, "contacts__list", {"page_size": 30}, caller(Authorization=who))
        seen, token = [], ""
        answer = first
        while answer.payload is not None:
            seen += [row["email"] for row in answer.payload["results"]]
            token = answer.payload["piece"]["continuation_token"] or ""
            if not token:
                break
            stolen = call(crm, "contacts__list", {"continuation_token": token}, caller(Authorization=other))
            assert stolen.is_error
            answer = call(crm, "contacts__list", {"continuation_token": token}, caller(Authorization=who))
        assert sorted(seen) == sorted(f"{n}@example.com" for n in range(30))
        assert first.payload is not None
        assert first.payload["piece"]["of"] > 1


def test_an_admin_tool_asks_for_a_caller_a_confirmation_and_a_reason(crm: Service, folder: Path) -> None:
    ada = User.objects.create_user(username="ada")
    who = caller(Authorization=f"Bearer {issue(ada, name='ops', scopes='*')[1]}")
    guards = {"confirm": True, "reason": "A fire drill."}
    assert call(crm, "alarm", {"password": "long enough", **guards}).text.startswith("This tool needs a known caller")
    assert call(crm, "alarm", {"password": "long enough"}, who).is_error
    assert call(crm, "alarm", {"password": "long enough", **guards}, who).payload == {"heard": True}
    forget_service()
    store = SqliteStore.open(folder)
    (record,) = store.query(RecordFilter(types=(RecordType.ADMIN_OPERATION,)))
    store.close()
    assert (record.record.actor, record.record.details["stated_reason"]) == ("token:ops", "A fire drill.")


@pytest.mark.requirement("D24")
def test_what_is_out_of_scope_is_not_there(crm: Service) -> None:
    ada = User.objects.create_user(username="ada")
    who = caller(Authorization=f"Bearer {issue(ada, name='reader', scopes='crm/contacts*:read')[1]}")
    listed = {entry["name"] for entry in crm.tools(who)}
    assert {"contacts__list", "contacts__retrieve", "contacts"} <= listed
    assert not any(name.startswith("dcim") or name.endswith(("create", "destroy")) for name in listed)
    assert "create" not in json.dumps([entry for entry in crm.tools(who) if entry["name"] == "contacts"])
    for name in ("contacts__create", "dcim__sites__list", "nowhere"):
        with pytest.raises(UnknownTool):
            call(crm, name, FLAT, who)
    assert call(crm, "contacts", {"action": "create", "arguments": FLAT}, who).is_refused
    assert Contact.objects.count() == 0


def test_every_call_and_every_refusal_is_on_record(crm: Service, folder: Path) -> None:
    call(crm, "contacts__create", FLAT)
    call(crm, "contacts__create", {"data": FLAT})
    forget_service()
    store = SqliteStore.open(folder)
    kept = [(each.record.type, each.record.status, each.record.rule) for each in store.query(RecordFilter())]
    store.close()
    assert sorted((str(a), str(b), c) for a, b, c in kept) == [
        ("policy_decision", "blocked", "arguments.nested_wrapper"),
        ("tool_call", "blocked", "arguments.nested_wrapper"),
        ("tool_call", "success", ""),
    ]


def test_everything_listed_is_listed_once_and_compiles(crm: Service) -> None:
    names = [entry["name"] for entry in crm.tools(caller())]
    assert len(names) == len(set(names))
    assert {"contacts__create", "dcim__devices__list", "contacts", "dcim__devices"} <= set(names)


def test_many_to_many_rows_are_found_by_name(crm: Service) -> None:
    Site.objects.create(name="hq-1", slug="hq")
    Tag.objects.create(name="core")
    answer = call(crm, "dcim__devices__create", {"name": "sw-1", "site": "hq-1", "tags": [{"name": "core"}]})
    assert isinstance(answer.outcome, Succeeded), answer.text
    assert [tag.pk for tag in Device.objects.get().tags.all()] == ["core"]


def test_settings_that_do_not_fit_the_tools_are_told_when_they_are_read(database: None) -> None:
    from django.core.exceptions import ImproperlyConfigured

    said: dict[str, Any] = {"ACTIVITY": "off", "DISPATCHERS": {"crm": ["nothing__*"]}}
    with override_settings(HANDFAST=said), pytest.raises(ImproperlyConfigured, match="No tool matches"):
        service()
