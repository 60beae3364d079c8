"""Tools that can be served together, and those that cannot."""

from django.test import override_settings

from handfast.django.checks.catalogue import CheckId, Finding
from handfast.django.checks.served import try_to_serve
from handfast.toolkit.registry import ToolRegistry
from tests.django.discovery.calling import TOOLS


def test_the_tools_are_those_that_the_endpoint_would_list() -> None:
    served = try_to_serve(list(TOOLS.values()))
    assert isinstance(served, ToolRegistry)
    assert [one["name"] for one in served.published()] == sorted(TOOLS)
    assert not served.has_recorder


@override_settings(HANDFAST={"DISPATCHERS": {"crm": ["customers__*"]}})
def test_what_keeps_all_of_them_from_being_served_is_an_error() -> None:
    assert try_to_serve(list(TOOLS.values())) == Finding(
        CheckId.NOT_SERVABLE,
        "The endpoint would answer every request with an error: No tool matches HANDFAST['DISPATCHERS']['crm']."
        " Write patterns such as 'contacts__*'.",
        "Mend what is named, or leave it out: HANDFAST['EXCLUDE'].",
        "settings.HANDFAST",
    )
