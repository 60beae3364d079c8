"""Tools and dispatchers of a project, as they stand in the registry."""

from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import override_settings

from handfast.django.conf import AdapterSettings, read_settings
from handfast.django.discovery import ViewTool, survey
from handfast.django.service.tools import build_registry, spec_of
from handfast.toolkit import ToolRegistry


@pytest.fixture(scope="module")
def tools() -> tuple[ViewTool, ...]:
    return survey().tools


def registry(tools: tuple[ViewTool, ...], **said: Any) -> ToolRegistry:
    with override_settings(HANDFAST=said):
        return build_registry(tools, read_settings(), recorder=None)


def named(tools: tuple[ViewTool, ...], name: str) -> ViewTool:
    return next(tool for tool in tools if tool.name == name)


def test_every_view_tool_is_registered_with_its_own_annotations(tools: tuple[ViewTool, ...]) -> None:
    published = {entry["name"]: entry for entry in registry(tools).published()}
    assert published.keys() == {tool.name for tool in tools}
    assert all(published[tool.name]["annotations"] == dict(tool.annotations) for tool in tools)


def test_only_creates_that_need_nothing_else_take_lists(tools: tuple[ViewTool, ...]) -> None:
    several = {tool.name for tool in tools if spec_of(tool, AdapterSettings()).run_list is not None}
    assert several == {"contacts__create", "dcim__devices__create", "dcim__racks__create"}


def test_reads_come_in_pieces_and_writes_whole(tools: tuple[ViewTool, ...]) -> None:
    assert {spec_of(tool, AdapterSettings()).in_pieces for tool in tools if tool.kind == "read"} == {True}
    assert {spec_of(tool, AdapterSettings()).in_pieces for tool in tools if tool.kind != "read"} == {False}


def test_an_admin_tool_takes_its_guards(tools: tuple[ViewTool, ...]) -> None:
    schema = spec_of(named(tools, "alarm"), AdapterSettings()).input_schema
    assert list(schema["properties"]) == ["password", "confirm", "reason"]
    assert schema["required"][-2:] == ["confirm", "reason"]


def test_each_resource_has_a_dispatcher_with_every_action_of_it(tools: tuple[ViewTool, ...]) -> None:
    made = registry(tools, DISPATCHERS="resources")
    dispatchers = {spec.name for spec in made.list_registered() if spec.is_dispatcher}
    assert dispatchers == {"contacts", "dcim__devices", "dcim__racks", "dcim__sites", "dcim__sites__devices"}
    about = next(entry["description"] for entry in made.published() if entry["name"] == "contacts")
    for action in ("create", "note__get", "note__post", "set_password"):
        assert action in about


def test_groups_gather_what_their_patterns_match_and_can_stand_for_it(tools: tuple[ViewTool, ...]) -> None:
    made = registry(tools, DISPATCHERS={"machines": ["dcim__*", "alarm"]}, HIDE_DISPATCHED=True)
    listed = {entry["name"] for entry in made.published()}
    assert "machines" in listed
    assert not any(name.startswith("dcim__") for name in listed)
    assert "alarm" not in listed
    assert "contacts__list" in listed


def test_a_group_of_nothing_is_refused(tools: tuple[ViewTool, ...]) -> None:
    with pytest.raises(ImproperlyConfigured, match=r"No tool matches HANDFAST\['DISPATCHERS'\]\['a'\]"):
        registry(tools, DISPATCHERS={"a": ["b__*"]})


def test_a_group_with_the_name_of_a_tool_is_refused(tools: tuple[ViewTool, ...]) -> None:
    with pytest.raises(ImproperlyConfigured, match="There is a tool 'alarm' already"):
        registry(tools, DISPATCHERS={"alarm": ["dcim__*"]})
