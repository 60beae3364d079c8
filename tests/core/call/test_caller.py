"""Who calls: what turns, tasks, room and records are counted by."""

import pytest

from handfast.core.call.caller import ANYONE, Caller, network_of

pytestmark = pytest.mark.requirement("F2")


def test_an_actor_is_one_caller_wherever_it_comes_from() -> None:
    one, other = Caller(actor="ada", peer="192.0.2.1"), Caller(actor="ada", peer="192.0.2.2", client=b"y")
    assert (one.key, one.name, one.address, one.label) == (other.key, other.name, other.address, other.label)
    assert (one.key, one.name, one.address, one.label) == ("ada", "actor ada", "ada", "ada")


def test_sessions_of_one_actor_take_turns_as_one_and_keep_what_is_theirs_apart() -> None:
    one, other = (Caller(actor="ada").in_session(session) for session in ("s1", "s2"))
    assert one.key == other.key == "ada"
    assert (one.name, other.name) == ("session s1", "session s2")


def test_without_an_actor_the_address_and_the_clients_name_make_the_caller() -> None:
    callers = [Caller(peer=peer).introduced(name) for peer in ("192.0.2.1", "192.0.2.2") for name in (b"x", b"y")]
    assert len({caller.key for caller in callers}) == len({caller.name for caller in callers}) == 4
    assert callers[0].name == Caller(peer="192.0.2.1", client=b"x").name


@pytest.mark.parametrize("known", [Caller(actor="ada"), Caller(session="s"), Caller(client=b"x")])
def test_what_a_client_calls_itself_changes_nothing_for_a_caller_that_is_known(known: Caller) -> None:
    assert known.introduced(b"x") is known


def test_a_name_is_short_whatever_the_client_calls_itself() -> None:
    assert len(Caller(client=b"x" * 100_000).name) == 64


def test_the_id_of_a_session_is_no_other_callers_name_or_turn() -> None:
    ada, anonymous = Caller(actor="ada"), Caller(peer="192.0.2.1", client=b"x")
    for known in (ada, anonymous):
        for chosen in (known.name, known.name.removeprefix("actor ")):
            stranger = Caller(peer="192.0.2.9").in_session(chosen)
            assert (stranger.name != known.name, stranger.key != known.key, stranger.label != known.label) == (
                True,
            ) * 3


@pytest.mark.requirement("F7")
def test_a_session_keeps_no_more_than_a_digest_of_what_its_client_calls_itself() -> None:
    opener = Caller(peer="127.0.0.1").introduced(b"x" * 10_000)
    session = opener.in_session("s")
    assert (session.client, session.address) == (b"", opener.address)


@pytest.mark.requirement("F9")
def test_records_show_no_session_and_no_name_that_a_client_chose() -> None:
    secret = "an-id-that-opens-a-session"
    labels = [caller.label for caller in (Caller(session=secret), Caller(peer="192.0.2.1", client=secret.encode()))]
    assert len(set(labels)) == 2
    assert all(secret not in label and len(label) == 16 for label in labels)
    assert ANYONE.label == ""


@pytest.mark.requirement("F7")
@pytest.mark.parametrize("peer", ["127.0.0.1", "127.8.9.10", "::1", "::ffff:127.0.0.1", "", "no address"])
def test_on_this_machine_room_is_counted_by_caller(peer: str) -> None:
    assert Caller(peer=peer, client=b"ada").address != Caller(peer=peer, client=b"bob").address


@pytest.mark.requirement("F7")
def test_a_process_of_one_client_has_room_of_its_own() -> None:
    assert Caller(session="one").address != Caller(session="other").address


@pytest.mark.requirement("F7")
@pytest.mark.parametrize(
    ("peer", "network"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8::1", "20010db800000000"),
        ("2001:db8::ffff:2", "20010db800000000"),
        ("2001:db8:0:1::1", "20010db800000001"),
        ("fe80::1%eth0", "fe80000000000000"),
        ("::1234", "0000000000000000"),
    ],
)
def test_elsewhere_room_is_counted_by_network_whatever_the_name(peer: str, network: str) -> None:
    assert network_of(peer) == Caller(peer=peer, client=b"ada").address == network
