"""What each caller was shown: whose a URI is, within bounds, and nobody else's business."""

import pytest

from handfast.gateway.translate.combined.known import CallerKnowledge, Knowledge
from handfast.gateway.translate.combined.ownership import find_owner

pytestmark = pytest.mark.requirement("E5")
BOTH = ["a", "b"]


def _known(**lists: dict[str, list[str]]) -> CallerKnowledge:
    known = CallerKnowledge()
    for kind, by_server in lists.items():
        for server, values in by_server.items():
            known.learn(kind, server, {value: value for value in values}, is_whole=True)
    return known


def _owner(known: CallerKnowledge, uri: str, servers: list[str] = BOTH) -> str | None:
    owner = find_owner(known.claims(uri, servers))
    return None if owner is None else owner.server


def test_a_uri_belongs_to_the_first_server_that_lists_it() -> None:
    known = _known(resources={"b": ["x:1", "x:2"], "a": ["x:2"]})
    assert [_owner(known, uri) for uri in ("x:1", "x:2", "x:3")] == ["b", "a", None]
    assert _owner(known, "x:2", ["b"]) == "b"  # a is gone


@pytest.mark.requirement("S9")
def test_a_list_comes_before_a_link_and_a_link_before_a_template() -> None:
    known = _known(resources={"a": ["x:t:1"]}, resourceTemplates={"a": ["x:t:{n}"]})
    known.link("b", ["x:t:1", "x:t:2", "y:1"])
    assert [_owner(known, uri) for uri in ("x:t:1", "x:t:2", "x:t:3", "y:1")] == ["a", "b", "a", "b"]


@pytest.mark.requirement("S9")
def test_what_two_servers_link_or_template_is_nobodys_whatever_else_they_claim() -> None:
    known = _known(resourceTemplates={"a": ["x:t:{n}"], "b": ["x:t:{m}"]})
    known.link("b", ["x:t:2", "y:1"])
    known.link("a", ["y:1"])
    assert [_owner(known, uri) for uri in ("x:t:1", "x:t:2", "y:1")] == [None, "b", None]
    known.learn("resourceTemplates", "b", {}, is_whole=True)
    known.link("b", ["x:t:3"])
    known.link("a", ["x:t:3"])
    assert _owner(known, "x:t:3") is None


@pytest.mark.requirement("S9")
def test_a_template_that_only_names_a_scheme_fits_and_decides_nothing() -> None:
    known = _known(resourceTemplates={"a": ["https://{+p}"]})
    claims = known.claims("https://docs.example/x", BOTH)
    assert (claims.templated, claims.fitting) == ((), ("a",))
    known.link("b", ["https://docs.example/x"])
    assert _owner(known, "https://docs.example/x") == "b"


@pytest.mark.requirement("S9")
def test_another_spelling_belongs_to_the_server_that_lists_the_uri_and_two_spellings_may_be_two() -> None:
    known = _known(resources={"a": ["https://Docs.example/1", "db://Users/1"], "b": ["db://users/1"]})
    known.link("b", ["HTTPS://docs.example/%31"])
    spelt = ("https://docs.example/1", "HTTPS://docs.example/%31", "db://Users/1", "db://users/1")
    assert [_owner(known, uri) for uri in spelt] == ["a", "a", "a", "b"]
    known.learn("resources", "a", {}, is_whole=True)
    assert [_owner(known, uri) for uri in spelt] == ["b", "b", "b", "b"]


def test_a_link_is_the_one_of_its_server_alone() -> None:
    known = CallerKnowledge()
    known.link("b", ["x:1"])
    assert (_owner(known, "x:1"), _owner(known, "x:1", ["a"])) == ("b", None)


def test_a_whole_list_takes_away_what_it_no_longer_shows_and_a_page_does_not() -> None:
    known = _known(resources={"a": ["x:1", "x:2"]})
    known.learn("resources", "a", {"x:3": "x:3"}, is_whole=False)
    assert _owner(known, "x:1") == "a"
    known.learn("resources", "a", {"x:3": "x:3"}, is_whole=True)
    assert [_owner(known, uri) for uri in ("x:1", "x:3")] == [None, "a"]
    assert known.bytes == len("x:3") + 100


def test_a_template_is_found_by_its_text() -> None:
    known = _known(resourceTemplates={"b": ["x:{n}"]})
    assert (known.template_owners("x:{n}", BOTH), known.template_owners("x:{m}", BOTH)) == (["b"], [])


def test_what_one_caller_was_shown_says_nothing_to_another() -> None:
    knowledge = Knowledge()
    knowledge.of("ada").link("a", ["x:1"])
    knowledge.of("ada").learn("tools", "a", {"a__t": "t"}, is_whole=True)
    assert _owner(knowledge.of("bob"), "x:1") is None
    assert knowledge.of("bob").own("tools", "a", "a__t") is None
    assert _owner(knowledge.of("ada"), "x:1") == "a"


def test_a_server_with_endless_lists_and_links_does_not_fill_the_memory() -> None:
    known = CallerKnowledge()
    for page in range(30):
        uris = [f"x:{page}-{n}" for n in range(10_000)]
        known.learn("resources", "a", dict(zip(uris, uris, strict=True)), is_whole=False)
        known.link("a", (f"y{uri}" for uri in uris))
    assert known.bytes <= 8 * 1024**2 + 10_000


@pytest.mark.requirement("S9")
def test_a_server_that_shows_and_links_without_end_crowds_out_nobody_else() -> None:
    known = _known(resources={"a": ["x:listed"]})
    known.link("a", ["x:linked"])
    for page in range(10):
        uris = [f"y:{page}-{n}" for n in range(10_000)]
        known.learn("resources", "b", dict(zip(uris, uris, strict=True)), is_whole=False)
        known.link("b", [f"z{uri}" for uri in uris])
    known.learn("resources", "a", {"x:late": "x:late"}, is_whole=False)
    known.link("a", ["x:linked-late"])
    assert [_owner(known, f"x:{uri}") for uri in ("listed", "linked", "late", "linked-late")] == ["a"] * 4


def test_callers_that_were_silent_longest_are_forgotten_first() -> None:
    knowledge = Knowledge()
    uris = {uri: uri for uri in (f"x:{k}" for k in range(40_000))}
    knowledge.of("first").link("a", ["x:1"])
    for n in range(40):
        knowledge.of("first")
        knowledge.of(f"caller-{n}").learn("resources", "a", uris, is_whole=True)
    assert _owner(knowledge.of("first"), "x:1") == "a"
    assert _owner(knowledge.of("caller-39"), "x:1") == "a"
    assert _owner(knowledge.of("caller-0"), "x:1") is None


@pytest.mark.requirement("F8")
def test_a_servers_uris_take_no_room_from_its_own_tools_and_what_is_not_kept_is_known_to_be_cut() -> None:
    known = CallerKnowledge()
    uris = {f"x:{n}": f"x:{n}" for n in range(100_000)}
    known.learn("resources", "a", uris, is_whole=True)
    known.link("a", uris)
    for server in BOTH:
        known.learn("tools", server, {f"{server}__t": "t"}, is_whole=True)
    assert [known.own("tools", server, f"{server}__t") for server in BOTH] == ["t", "t"]
    cut = [(kind, server) for kind in ("tools", "resources") for server in BOTH if known.is_cut(kind, server)]
    assert cut == [("resources", "a")]
    known.learn("resources", "a", {"x:1": "x:1"}, is_whole=True)
    assert not known.is_cut("resources", "a")


@pytest.mark.requirement("F8")
def test_what_all_callers_were_shown_is_bounded_while_they_learn_and_not_only_when_they_come() -> None:
    knowledge = Knowledge(most_bytes=1_000_000)
    names = {f"a__{n}": f"{n}" for n in range(1000)}
    callers = [knowledge.of(f"c{n}", f"10.0.0.{n % 2}") for n in range(20)]
    for known in callers:
        known.learn("tools", "a", names, is_whole=True)
    kept = [known for known in callers if not known.is_forgotten]
    assert sum(known.bytes for known in kept) < 1_000_000
    assert 5 < len(kept) < 10
    assert kept[-1] is callers[-1]


@pytest.mark.requirement("F8")
def test_the_address_that_was_shown_the_most_forgets_its_own() -> None:
    knowledge = Knowledge(most_bytes=1_000_000)
    names = {f"a__{n}": f"{n}" for n in range(1000)}
    victim = knowledge.of("victim", "192.0.2.1")
    victim.learn("tools", "a", names, is_whole=True)
    for n in range(50):
        knowledge.of(f"name-{n}", "192.0.2.2").learn("tools", "a", names, is_whole=True)
    assert knowledge.of("victim", "192.0.2.1") is victim


@pytest.mark.requirement("F8")
def test_callers_who_were_shown_nothing_are_bounded_in_number() -> None:
    knowledge = Knowledge()
    first = knowledge.of("first")
    for n in range(10_000):
        knowledge.of(f"name-{n}")
    assert first.is_forgotten
    first.learn("tools", "a", {"a__t": "t"}, is_whole=True)  # what is under way for it goes on
    assert first.own("tools", "a", "a__t") == "t"


def test_a_caller_that_leaves_gives_back_its_room() -> None:
    knowledge = Knowledge(most_bytes=1_000_000)
    names = {f"a__{n}": f"{n}" for n in range(1000)}
    last = knowledge.of("last")
    for n in range(50):
        knowledge.of(f"c{n}").learn("tools", "a", names, is_whole=True)
        knowledge.forget(f"c{n}")
        knowledge.forget(f"c{n}")
    assert not last.is_forgotten


@pytest.mark.requirement("F8")
def test_links_outlast_callers_that_come_and_go() -> None:
    knowledge = Knowledge()
    linked, plain = knowledge.of("linked"), knowledge.of("plain")
    linked.link("a", ["x:1"])
    for number in range(20_000):
        knowledge.of(f"c{number}")
    assert (linked.is_forgotten, plain.is_forgotten) == (False, True)
    assert _owner(knowledge.of("linked"), "x:1") == "a"


@pytest.mark.requirement("F8")
@pytest.mark.parametrize("has_links", [True, False])
def test_an_address_with_many_callers_forgets_its_own(has_links: bool) -> None:
    knowledge = Knowledge()
    victim = knowledge.of("victim", "10.0.0.2")
    for number in range(20_000):
        mine = knowledge.of(f"c{number}", "10.0.0.1")
        if has_links:
            mine.link("a", ["x:1"])
    assert not victim.is_forgotten
    assert not mine.is_forgotten
