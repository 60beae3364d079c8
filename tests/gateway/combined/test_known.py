"""What each caller was shown: whose a URI is, within bounds, and nobody else's business."""

import pytest

from handfast.gateway.combined.known import Knowledge, Known

pytestmark = pytest.mark.requirement("E5")
BOTH = ["a", "b"]


def _known(**lists: dict[str, list[str]]) -> Known:
    known = Known()
    for kind, by_server in lists.items():
        for server, values in by_server.items():
            known.learn(kind, server, {value: value for value in values}, is_whole=True)
    return known


def test_a_uri_belongs_to_the_first_server_that_lists_it() -> None:
    known = _known(resources={"b": ["x:1", "x:2"], "a": ["x:2"]})
    assert [known.owner(uri, BOTH) for uri in ("x:1", "x:2", "x:3")] == ["b", "a", None]
    assert known.owner("x:2", ["b"]) == "b"  # a is gone


def test_a_list_comes_before_a_template_and_a_template_before_a_link() -> None:
    known = _known(resources={"b": ["x:1"]}, resourceTemplates={"a": ["x:{n}"]})
    known.link("b", ["x:1", "x:2", "y:1"])
    assert [known.owner(uri, BOTH) for uri in ("x:1", "x:2", "y:1")] == ["b", "a", "b"]


def test_of_servers_whose_templates_fit_the_one_that_linked_it_is_meant() -> None:
    known = _known(resourceTemplates={"a": ["x:{n}"], "b": ["x:{m}"]})
    known.link("b", ["x:2"])
    assert [known.owner(uri, BOTH) for uri in ("x:1", "x:2")] == ["a", "b"]


def test_a_later_link_takes_nothing_over() -> None:
    known = Known()
    known.link("b", ["x:1"])
    known.link("a", ["x:1"])
    assert known.owner("x:1", BOTH) == "b"
    assert known.owner("x:1", ["a"]) is None


def test_a_whole_list_takes_away_what_it_no_longer_shows_and_a_page_does_not() -> None:
    known = _known(resources={"a": ["x:1", "x:2"]})
    known.learn("resources", "a", {"x:3": "x:3"}, is_whole=False)
    assert known.owner("x:1", BOTH) == "a"
    known.learn("resources", "a", {"x:3": "x:3"}, is_whole=True)
    assert [known.owner(uri, BOTH) for uri in ("x:1", "x:3")] == [None, "a"]
    assert known.bytes == len("x:3") + 100


def test_a_template_is_found_by_its_text() -> None:
    known = _known(resourceTemplates={"b": ["x:{n}"]})
    assert (known.template_owner("x:{n}", BOTH), known.template_owner("x:{m}", BOTH)) == ("b", None)


def test_what_one_caller_was_shown_says_nothing_to_another() -> None:
    knowledge = Knowledge()
    knowledge.of("ada").link("a", ["x:1"])
    knowledge.of("ada").learn("tools", "a", {"a__t": "t"}, is_whole=True)
    assert knowledge.of("bob").owner("x:1", BOTH) is None
    assert knowledge.of("bob").own("tools", "a", "a__t") is None
    assert knowledge.of("ada").owner("x:1", BOTH) == "a"


def test_a_server_with_endless_lists_and_links_does_not_fill_the_memory() -> None:
    known = Known()
    for page in range(30):
        uris = [f"x:{page}-{n}" for n in range(10_000)]
        known.learn("resources", "a", dict(zip(uris, uris, strict=True)), is_whole=False)
        known.link("a", (f"y{uri}" for uri in uris))
    assert known.bytes <= 8 * 1024**2 + 10_000


def test_callers_that_were_silent_longest_are_forgotten_first() -> None:
    knowledge = Knowledge()
    uris = {uri: uri for uri in (f"x:{k}" for k in range(40_000))}
    knowledge.of("first").link("a", ["x:1"])
    for n in range(40):
        knowledge.of("first")
        knowledge.of(f"caller-{n}").learn("resources", "a", uris, is_whole=True)
    assert knowledge.of("first").owner("x:1", BOTH) == "a"
    assert knowledge.of("caller-39").owner("x:1", BOTH) == "a"
    assert knowledge.of("caller-0").owner("x:1", BOTH) is None
