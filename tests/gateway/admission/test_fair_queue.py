"""The line for places at a server: bounded, in order, and fair whatever the callers do."""

from collections import deque

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from handfast.gateway.admission.fair_queue import FairQueue

CALLERS = st.sampled_from("abcd")


class Line(RuleBasedStateMachine):
    """Beside the queue stands a plain list of who waits, in the order they came."""

    def __init__(self) -> None:
        super().__init__()
        self.queue: FairQueue[int] = FairQueue()
        self.places = 2
        self.came = 0
        self.waiting: list[tuple[str, int]] = []
        self.held: list[str] = []  # by whom
        self.turns: deque[str] = deque()  # the callers who wait, the next one first

    @rule(caller=CALLERS, most=st.sampled_from([2, 5, 100]))
    def ask(self, caller: str, most: int) -> None:
        is_free = len(self.held) < self.places and not self.has_share(caller) and self.next_caller() is None
        assert self.queue.take(caller, self.places) is is_free
        if is_free:
            self.held.append(caller)
            return
        self.came += 1
        turned_away = self.queue.join(caller, self.came, most=most)
        counts = {name: sum(name == other for other, _ in self.waiting) for name in "abcd"}
        if len(self.waiting) < most:
            assert turned_away == []
        elif turned_away == [self.came]:
            assert max(counts.values()) <= counts[caller] + 1  # nobody has much more waiting
            return
        else:
            (last,) = turned_away
            loser = next(name for name, ticket in self.waiting if ticket == last)
            assert (counts[loser], counts[loser] > counts[caller] + 1) == (max(counts.values()), True)
            assert last == [ticket for name, ticket in self.waiting if name == loser][-1]
            self.waiting.remove((loser, last))
        self.waiting.append((caller, self.came))
        if caller not in self.turns:
            self.turns.append(caller)

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        caller, ticket = data.draw(st.sampled_from(self.waiting))
        self.queue.leave(caller, ticket)
        self.forget(caller, ticket)

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def give_back(self, data: st.DataObject) -> None:
        """As it happens in life: what is given back is handed on."""
        caller = data.draw(st.sampled_from(self.held))
        self.queue.give_back(caller)
        self.held.remove(caller)
        self.call_next()

    @rule()
    def call_next(self) -> None:
        chosen = self.queue.call_next(self.places)
        caller = self.next_caller()
        if caller is None:
            assert chosen is None
            return
        assert chosen == next(ticket for name, ticket in self.waiting if name == caller)
        self.turns.remove(caller)
        self.turns.append(caller)
        self.forget(caller, chosen)
        self.held.append(caller)

    def has_share(self, caller: str) -> bool:
        return self.held.count(caller) >= self.places - self.places // 4

    def next_caller(self) -> str | None:
        if len(self.held) >= self.places:
            return None
        return next((caller for caller in self.turns if not self.has_share(caller)), None)

    @rule(places=st.integers(1, 9))
    def change_places(self, places: int) -> None:
        self.places = places

    def forget(self, caller: str, ticket: int) -> None:
        self.waiting.remove((caller, ticket))
        if all(name != caller for name, _ in self.waiting):
            self.turns.remove(caller)

    @invariant()
    def nothing_is_lost_and_nothing_leaks(self) -> None:
        assert (self.queue.held, self.queue.waiting) == (len(self.held), len(self.waiting))
        assert sorted(self.queue) == sorted(ticket for _, ticket in self.waiting)


TestLine = Line.TestCase
TestLine.settings = settings(max_examples=200, stateful_step_count=40, deadline=None)


def drained(queue: FairQueue[str], places: int) -> list[str]:
    """Everybody who waits, in the order in which they get a place."""
    called = []
    while (ticket := queue.call_next(places)) is not None:
        called.append(ticket)
        queue.give_back(ticket[0])
    return called


def test_callers_take_turns_however_much_one_of_them_asks_for() -> None:
    queue: FairQueue[str] = FairQueue()
    assert queue.take("x", 1)
    for ticket in ("a1", "a2", "a3", "a4", "b1", "b2", "c1"):
        queue.join(ticket[0], ticket, most=10)
    queue.give_back("x")
    assert drained(queue, 1) == ["a1", "b1", "c1", "a2", "b2", "a3", "a4"]


def test_a_full_line_makes_room_for_a_caller_with_less_in_it() -> None:
    queue: FairQueue[str] = FairQueue()
    assert queue.take("x", 1)
    turned_away = [queue.join(ticket[0], ticket, most=3) for ticket in ("a1", "a2", "a3", "a4", "b1", "b2", "c1")]
    assert turned_away == [[], [], [], ["a4"], ["a3"], ["b2"], ["a2"]]
    queue.give_back("x")
    assert drained(queue, 1) == ["a1", "b1", "c1"]


def test_heavy_tickets_take_more_of_the_line_and_give_way_to_callers_with_less() -> None:
    queue: FairQueue[str] = FairQueue()
    assert queue.take("x", 1)
    assert queue.join("a", "a1", most=10, weight=64) == [], "where nobody waits there is room"
    assert queue.join("a", "a2", most=10) == ["a2"]
    assert queue.join("b", "b1", most=10) == ["a1"], "who has more than another gives way"
    assert [queue.join("a", name, most=10, weight=4) for name in ("a3", "a4", "a5")] == [[], [], ["a5"]]
    assert queue.join("b", "b2", most=10, weight=5) == ["a4"]
    assert queue.join("c", "c1", most=10, weight=7) == ["c1"], "nobody is as heavy"
    assert [queue.join("d", name, most=10) for name in ("d1", "d2", "d3")] == [["b2"], [], []]
    queue.give_back("x")
    assert drained(queue, 1) == ["b1", "a3", "d1", "d2", "d3"]
    assert queue.join("e", "e1", most=1) == [], "nothing of those who left is counted"


def test_one_caller_leaves_places_for_others_however_long_its_calls_take() -> None:
    queue: FairQueue[str] = FairQueue()
    assert [queue.take("a", 8) for _ in range(7)] == [True] * 6 + [False]
    assert queue.join("a", "a7", most=10) == []
    assert queue.call_next(8) is None
    assert [queue.take(caller, 8) for caller in "bcd"] == [True, True, False]
    assert queue.join("d", "d1", most=10) == []
    queue.give_back("b")
    assert queue.call_next(8) == "d1", "its turn is later, and it is free to go"
    queue.give_back("a")
    assert queue.call_next(8) == "a7"
    assert [queue.take("a", places) for places in (1, 2)] == [False, False]
    small: FairQueue[str] = FairQueue()
    assert [small.take("a", 3) for _ in range(4)] == [True, True, True, False], "few places are not divided"
