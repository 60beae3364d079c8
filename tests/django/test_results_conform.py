"""Whatever the models, the serializers and the rows are: what comes back meets the schema that was promised for it."""

import base64
import json
import uuid
from dataclasses import dataclass
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.test import RequestFactory, override_settings
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from handfast.core.answers.outcome import Succeeded
from handfast.core.schema.compiled import CompiledSchema, compile_schema
from handfast.django.access import identify_caller
from handfast.django.conf import AdapterSettings
from handfast.django.discovery import ViewTool, survey
from handfast.django.service.service import Service
from tests.django.discovery.calling import call
from tests.django.discovery.test_truth import judge
from tests.django.generated.apis import apis
from tests.django.generated.columns import KINDS
from tests.django.generated.worlds import World, isolated, rows, worlds
from tests.django.generated.worlds import tables as tables_of

pytestmark = pytest.mark.slow

EXAMPLES = 8  # for each project, both ways: some seconds in all

IN_MEMORY = {"default": {"BACKEND": "django.core.files.storage.InMemoryStorage"}}
PROJECTS: dict[str, dict[str, Any]] = {
    "stock": {},
    "naive times": {"USE_TZ": False},
    "another zone": {"TIME_ZONE": "Asia/Kolkata"},
    "other numbers": {"REST_FRAMEWORK": {"COERCE_DECIMAL_TO_STRING": False, "COERCE_BIGINT_TO_STRING": True}},
    "other dates": {
        "REST_FRAMEWORK": {"DATETIME_FORMAT": "%d %b %Y", "DATE_FORMAT": None, "DURATION_FORMAT": "iso-8601"}
    },
}


@dataclass(frozen=True, slots=True)
class Api:
    """The tools of a generated world: as their urls are called, or through the service, as an agent calls them."""

    world: World
    tools: dict[str, ViewTool]
    is_linked: bool
    service: Service | None

    def read(self, resource: str, model: Any, data: st.DataObject) -> None:
        listing = self.tools[f"{resource}__list"]
        self.check(listing, _paging(listing, data))
        for key in _keys(model):
            retrieve = self.tools[f"{resource}__retrieve"]
            self.check(retrieve, {each.name: key for each in retrieve.path.parameters})

    def write(self, resource: str, model: Any, data: st.DataObject) -> None:
        key = _keys(model)[0]
        for action in ("create", "update", "partial_update"):
            tool = self.tools[f"{resource}__{action}"]
            arguments = data.draw(bodies(self, model, tool)) | {each.name: key for each in tool.path.parameters}
            if _is_whole(model, tool, arguments):
                judge(tool.input_schema, arguments)
                self.check(tool, arguments)
        tool = self.tools[f"{resource}__destroy"]
        self.check(tool, {each.name: key for each in tool.path.parameters})

    def check(self, tool: ViewTool, arguments: dict[str, Any]) -> None:
        """By the judge that every result meets, and then as strictly as any client could."""
        answer = self.answer(tool, arguments)
        compiled = compile_schema(json.dumps(tool.output_schema).encode())
        assert isinstance(compiled, CompiledSchema)
        assert compiled.describe(answer) == ()
        judge(tool.output_schema, answer)

    def answer(self, tool: ViewTool, arguments: dict[str, Any]) -> object:
        if self.service is None:
            status, answer = call(tool, arguments)
            assert status in (200, 201, 204), (answer, arguments)
            return answer
        caller = identify_caller(RequestFactory().post("/mcp/"))
        outcome = self.service.call(tool.name, json.dumps(arguments).encode(), caller).outcome
        assert isinstance(outcome, Succeeded), (outcome, arguments)
        return outcome.data


def _keys(model: Any) -> list[Any]:
    keys = model._default_manager.values_list("pk", flat=True)
    return [str(key) if isinstance(key, uuid.UUID) else key for key in keys]


def _paging(tool: ViewTool, data: st.DataObject) -> dict[str, Any]:
    known = {one.name: one for one in tool.query}
    asked: dict[str, Any] = {"limit": 1, "offset": 1, "page": 1} if data.draw(st.booleans()) else {}
    if data.draw(st.booleans()):
        asked["ordering"] = [data.draw(st.sampled_from(known["ordering"].schema["items"]["enum"]))]
    return {name: value for name, value in asked.items() if name in known}


@st.composite
def bodies(draw: st.DrawFn, api: Api, model: Any, tool: ViewTool) -> dict[str, Any]:
    """What a good call sends of a row: all of it, or some of it where only some is to be changed."""
    world = api.world
    body = {each.name: draw(each.sent) for each in world.columns_of(model) if each.sent is not None}
    if model is world.thing:
        known = [f"/owners/{key}/" if api.is_linked else key for key in _keys(world.owner)]
        body |= {"owner": draw(st.sampled_from(known)), "friends": known[:1], "friends_shown": []}
    if api.service is not None:
        body |= _only_for_agents(draw, world, model)
    declared = tool.input_schema["properties"]
    return {
        name: value for name, value in body.items() if name in declared and (not tool.is_partial or draw(st.booleans()))
    }


def _only_for_agents(draw: st.DrawFn, world: World, model: Any) -> dict[str, Any]:
    """What an agent may send where the url's own caller would have to know more: rows by their fields, and files."""
    file = {"filename": "a.txt", "content": base64.b64encode(draw(st.binary(min_size=1, max_size=9))).decode()}
    found: dict[str, Any] = {each.name: file for each in world.columns_of(model) if each.kind is KINDS["file"]}
    if model is world.thing and draw(st.booleans()):
        found["owner"] = {world.owner._meta.pk.name: draw(st.sampled_from(_keys(world.owner)))}
    return found


def _is_whole(model: Any, tool: ViewTool, arguments: dict[str, Any]) -> bool:
    """Whether nothing is missing that this call must say, or that only the table would ask for."""
    owner = next((each for each in model._meta.concrete_fields if each.name == "owner"), None)
    is_owned = owner is None or owner.null or "owner" in arguments or tool.action != "create"
    return is_owned and arguments.keys() >= set(tool.input_schema.get("required", ()))


@pytest.mark.parametrize("is_served", [False, True], ids=["by its urls", "by the service"])
@pytest.mark.parametrize("project", PROJECTS.values(), ids=PROJECTS)
@given(data=st.data())
@settings(
    max_examples=EXAMPLES,
    derandomize=True,  # the same worlds every time: a failure is a change of ours
    phases=(Phase.explicit, Phase.generate),  # a smaller world says no more, and takes minutes to find
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)
def test_what_the_api_of_any_models_answers_meets_its_output_schemas(
    data: st.DataObject, project: dict[str, Any], is_served: bool, tables: None
) -> None:
    framework = django_settings.REST_FRAMEWORK | project.get("REST_FRAMEWORK", {})
    with isolated(), override_settings(STORAGES=IN_MEMORY, **project | {"REST_FRAMEWORK": framework}):
        world = data.draw(worlds())
        is_linked = data.draw(apis(world))
        found = survey(world.urls)
        assert len(found.tools) == 12, found.problems
        served = Service(AdapterSettings(activity="off"), found) if is_served else None
        api = Api(world, {tool.name: tool for tool in found.tools}, is_linked, served)
        with tables_of(world):
            data.draw(rows(world))
            for resource, model in (("things", world.thing), ("owners", world.owner)):
                api.read(resource, model, data)
                api.write(resource, model, data)
