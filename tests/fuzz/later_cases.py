"""Answers that come later: on a stream that is resumed, and as the result of a task."""

from dataclasses import replace

from hypothesis import strategies as st

from tests.fuzz.answer_cases import TOOLS, plan_answer
from tests.fuzz.promises import GOOD_ARGUMENTS
from tests.fuzz.routes import META_TEXT, Route
from tests.fuzz.stage import Case, plain_headers
from tests.fuzz.texts import Dice, Draw
from tests.fuzz.upstream import Plan

_EVENTS = ((b"Content-Type", b"text/event-stream"),)
_TASK = "t@N@"
_MODERN_POLLS = ("tasks/get", "tasks/get", "tasks/update", "tasks/cancel")
_LEGACY_POLLS = ("tasks/result", "tasks/result", "tasks/get", "tasks/cancel")
_TIMES = '"createdAt":"2026-11-01T10:00:00Z","lastUpdatedAt":"2026-11-01T10:00:00Z"'


def takes_later_answers(route: Route) -> bool:
    """Where a task keeps its own id, and a stream its own events."""
    return route.is_direct


@st.composite
def later_cases(draw: Draw, routes: tuple[Route, ...]) -> Case:
    dice = Dice(draw)
    route = dice.pick(routes)
    tool = dice.pick(TOOLS)
    if route.path and route.server.transport == "http" and not route.is_modern and dice.number(1):
        return _resumed(dice, route, tool)
    return _task_result(dice, route, tool)


def _resumed(dice: Dice, route: Route, tool: str) -> Case:
    """A stream that ends early, and a GET for the rest of it."""
    call = route.call(tool, "1@N@").encode()
    begun = Plan((b"id: 7\nretry: 10\ndata: \n\n",), headers=_EVENTS, is_chunked=True)
    before = Case(route, call, plain_headers(route, "tools/call", tool), begun, tool)
    rest = replace(plan_answer(dice, route, tool), status=200)
    return Case(route, b"", ((b"Accept", b"text/event-stream"), (b"Last-Event-ID", b"7")), rest, tool, "GET", before)


def _task_result(dice: Dice, route: Route, tool: str) -> Case:
    """A call that becomes a task, and a request for what came of it."""
    if route.is_modern:
        made = f'{{"resultType":"task","taskId":"{_TASK}","status":"working",{_TIMES},"ttlMs":60000}}'
        method, params = dice.pick(_MODERN_POLLS), f'{{"taskId":"{_TASK}","_meta":{META_TEXT}}}'
        call = route.call(tool, "1@N@")
    else:
        made = f'{{"task":{{"taskId":"{_TASK}","status":"working",{_TIMES},"ttl":60000}}}}'
        method, params = dice.pick(_LEGACY_POLLS), f'{{"taskId":"{_TASK}"}}'
        arguments = GOOD_ARGUMENTS[tool]
        asked = f'{{"name":"{tool}","arguments":{arguments},"task":{{"ttl":60000}}}}'
        call = f'{{"jsonrpc":"2.0","id":1@N@,"method":"tools/call","params":{asked}}}'
    answer = f'{{"jsonrpc":"2.0","id":@ID@,"result":{made}}}\n'.encode()
    headers = () if route.is_line else plain_headers(route, "tools/call", tool)
    before = Case(route, call.encode(), headers, Plan((answer,)), tool)
    body = f'{{"jsonrpc":"2.0","id":@N@,"method":"{method}","params":{params}}}'
    later = () if route.is_line else plain_headers(route, method, tool)
    if later and route.is_modern:
        later = (*later, (b"Mcp-Name", _TASK.encode()))
    is_inside = route.is_modern != dice.is_one_in(6)  # some servers say it in the way of the other era
    plan = plan_answer(dice, route, tool, _TASK if is_inside else "")
    return Case(route, body.encode(), later, plan, tool, before=before)
