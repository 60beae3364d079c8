"""Answers that are odd: in their members, ids, characters, statuses and headers, and as streams of events."""

import gzip
from itertools import pairwise

from hypothesis import strategies as st

from tests.fuzz.client import Headers
from tests.fuzz.headers import EVENT_TYPES, FROM_SERVERS, JSON_TYPES, with_one_more, with_value
from tests.fuzz.promises import BAD_RESULTS, GOOD_RESULTS
from tests.fuzz.routes import Route
from tests.fuzz.stage import Case, plain_headers
from tests.fuzz.texts import (
    CONTROLS,
    NUMBERS,
    UTF7_RUNS,
    VALUES,
    Dice,
    Draw,
    Obj,
    blanks,
    deep,
    encode,
    quoted,
    respell,
    string,
    utf7,
)
from tests.fuzz.upstream import Plan

TOOLS = ("pay", "pay", "match", "note")
IDS = ("@ID@", "@ID@.0", '"@ID@"', "0@ID@", "null", "987654321", "true", "[]", "-0", "1e400", "01")
RESULT_TYPES = ('"complete"', '"task"', '"input_required"', '"odd"', "null", "7", '"t\\u0061sk"', '"TASK"', '"task "')
FLAGS = ("false", "true", "1", '"true"', "null", "tru\\u0065", "[]", " true", "True")
STATUSES = (200, 201, 202, 203, 204, 206, 299, 400, 401, 403, 404, 405, 409, 422, 429, 500, 502, 503)
STRUCTURED = (
    *(
        '{"total":1,"total":"2"}',
        '{"total":"1","total":2}',
        '{"total":3,"Total":"x"}',
        '{"total":1e400}',
        '{"total":NaN}',
    ),
    *('{"total":"\\ud800"}', "null", "[]", '"x"', '{"total":9007199254740993}', '{"total":3.0}', '{"total":-0}', "{}"),
    *('{"word":"go\u2028od"}', '{"word":"g\x85d"}', '{"word":"x","word":"bad"}', '{"total":\n3}', '{"total":01}'),
    '{"total":3,"x":' + deep(70) + "}",
)
ASIDES = (
    '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}',
    '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}',
    '{"jsonrpc":"2.0","method":"notifications/x","params":{"a":"\u2028"}}',
    '{"jsonrpc":"2.0","id":"ask","method":"ping"}',
    '{"jsonrpc":"2.0","id":"ask","method":"notifications/x"}',
    '{"jsonrpc":"2.0","method":"roots/list"}',
    '{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}',
    "{}",
    "[]",
)


@st.composite
def answer_cases(draw: Draw, routes: tuple[Route, ...]) -> Case:
    dice = Dice(draw)
    route = dice.pick(routes)
    tool = dice.pick(TOOLS)
    body = route.call(tool, '"r@N@"' if dice.is_one_in(4) else "@N@").encode()
    plan = plan_answer(dice, route, tool)
    headers = () if route.is_line else plain_headers(route, "tools/call", tool)
    return Case(route, body, headers, plan, tool)


def plan_answer(dice: Dice, route: Route, tool: str, task: str = "") -> Plan:
    """An answer to the call of a tool; with `task` the answer of 2026-07-28 to what became of that task."""
    return _lines(dice, tool, task) if route.server.transport == "stdio" else _response(dice, tool, task)


# --- messages ------------------------------------------------------------------------------------------------------


def _message(dice: Dice, tool: str, task: str = "") -> str:
    """An answer to the call, with something odd in it most of the time."""
    message = Obj()
    message.add("jsonrpc", '"2.0"')
    message.add("id", "@ID@")
    result = Obj()
    result.add("content", '[{"type":"text","text":"fine"}]')
    result.add("structuredContent", _structured(dice, tool))
    message.add("result", result)
    for _ in range(dice.pick((1, 0, 1, 1, 2))):
        dice.pick(_MUTATIONS)(dice, message, result, tool)
    if task:
        _put_inside(message, task)
    return message.render(blanks(dice))


def _put_inside(message: Obj, task: str) -> None:
    """What was the result stands in the description of a task that is done."""
    result = message.get("result")
    if isinstance(result, Obj):
        done = Obj()
        for key, text in (("resultType", '"complete"'), ("taskId", f'"{task}"'), ("status", '"completed"')):
            done.add(key, text)
        done.add("createdAt", '"2026-11-01T10:00:00Z"')
        done.add("lastUpdatedAt", '"2026-11-01T10:00:00Z"')
        done.add("ttlMs", "60000")
        done.add("result", result)
        message.put("result", done)


def _structured(dice: Dice, tool: str) -> str:
    if not dice.is_one_in(2):
        return GOOD_RESULTS[tool]
    return dice.pick((BAD_RESULTS[tool], *STRUCTURED, f'{{"word":{string(dice)}}}'))


def _bad_answer(tool: str) -> str:
    return f'{{"jsonrpc":"2.0","id":@ID@,"result":{_bad_result(tool)}}}'


def _bad_result(tool: str) -> str:
    return f'{{"content":[],"structuredContent":{BAD_RESULTS[tool]}}}'


def _repeat_member(dice: Dice, message: Obj, result: Obj, tool: str) -> None:
    level = dice.pick((message, result, result))
    key, value = dice.pick(level.pairs)
    other = dice.pick((value, BAD_RESULTS[tool], "true", "null", _bad_result(tool), "7"))
    level.insert(dice, respell(dice, key.strip('"')), other)


def _hide_member(dice: Dice, message: Obj, result: Obj, tool: str) -> None:
    key = respell(dice, dice.pick(("structuredContent", "isError", "result", "resultType")))
    dice.pick((result, message)).insert(dice, key, dice.pick((BAD_RESULTS[tool], "true", "false", '"x"')))


def _hide_in_utf7(dice: Dice, message: Obj, result: Obj, tool: str) -> None:
    """A string that says more to a reader who takes it for UTF-7."""
    result.add("x", quoted(utf7(f'","structuredContent":{BAD_RESULTS[tool]},"z":"')))


def _change_id(dice: Dice, message: Obj, result: Obj, tool: str) -> None:
    if dice.is_one_in(4):
        message.drop("id")
    else:
        message.put("id", dice.pick(IDS))


def _change_type(dice: Dice, message: Obj, result: Obj, tool: str) -> None:
    result.put("resultType", dice.pick(RESULT_TYPES))
    if dice.is_one_in(2):
        result.put("structuredContent", BAD_RESULTS[tool])
    if dice.is_one_in(2):
        task = '{"taskId":"t@ID@","status":"working","createdAt":"2026-01-01T00:00:00Z","ttl":1000}'
        result.put(dice.pick(("task", "inputRequests", "requestState")), dice.pick((task, "{}", '"s"')))


def _change_flag(dice: Dice, message: Obj, result: Obj, tool: str) -> None:
    result.put("structuredContent", BAD_RESULTS[tool])
    result.put("isError", dice.pick(FLAGS))


def _add_member(dice: Dice, message: Obj, result: Obj, tool: str) -> None:
    others = (("error", '{"code":-1,"message":"x"}'), ("method", '"tools/call"'), ("params", "{}"), ("x", deep(1100)))
    message.insert(dice, *dice.pick((("x", string(dice)), *others)))


def _change_content(dice: Dice, message: Obj, result: Obj, tool: str) -> None:
    text = string(dice)
    blocks = (
        f'[{{"type":"text","text":{text}}}]',
        f"[{text}]",
        '[{"a":1,"a":2}]',
        "[NaN]",
        "null",
        deep(1100),
        "[1e400]",
    )
    result.put("content", dice.pick(blocks))


def _change_value(dice: Dice, message: Obj, result: Obj, tool: str) -> None:
    level = dice.pick((message, result))
    index = dice.number(len(level.pairs) - 1)
    level.pairs[index] = (level.pairs[index][0], dice.pick((*VALUES, *NUMBERS)))


_MUTATIONS = (
    _repeat_member,
    _repeat_member,
    _hide_member,
    _hide_in_utf7,
    _change_id,
    _change_type,
    _change_type,
    _change_flag,
    _add_member,
    _change_content,
    _change_value,
)


def _aside(dice: Dice, tool: str) -> str:
    """Another message of the server's, of any sort."""
    stray = f'{{"jsonrpc":"2.0","id":987,"result":{_bad_result(tool)}}}'
    return dice.pick((*ASIDES, _bad_answer(tool), stray, f'{{"jsonrpc":"2.0","result":{_bad_result(tool)}}}'))


def _around(dice: Dice, text: str, tool: str) -> str:
    if not dice.is_one_in(5):
        return text
    other = _bad_answer(tool)
    behind = (other, "\n" + other, "\r" + other, "\0", "}", "\u2028" + other, "\x1e" + other, " ")
    return dice.pick(
        (*(text + piece for piece in behind), "\ufeff" + text, f"[{text}]", f"[{text},{other}]", other + text, "[]", "")
    )


def _pieces(dice: Dice, data: bytes) -> tuple[bytes, ...]:
    """The same bytes, cut anywhere."""
    cuts = sorted({dice.number(len(data)) for _ in range(dice.pick((0, 0, 1, 2, 4)))})
    return tuple(data[start:end] for start, end in pairwise([0, *cuts, len(data)]))


def _lines(dice: Dice, tool: str, task: str) -> Plan:
    lines = [_aside(dice, tool) for _ in range(dice.pick((0, 0, 0, 1, 2)))]
    lines.insert(dice.number(len(lines)), _around(dice, _message(dice, tool, task), tool))
    end = dice.pick(("\n", "\n", "\n", "\r\n", "\r", "\n\n", "\u2028\n"))
    data, _ = encode(dice, "".join(line + end for line in lines))
    return Plan(_pieces(dice, data))


# --- over HTTP -----------------------------------------------------------------------------------------------------


def _response(dice: Dice, tool: str, task: str) -> Plan:
    is_stream = dice.number(2) > 0
    kinds = EVENT_TYPES if is_stream else JSON_TYPES
    headers: Headers = ((b"Content-Type", dice.pick(kinds) if dice.is_one_in(4) else kinds[0]),)
    if dice.is_one_in(5):
        headers = with_one_more(dice, headers, dice.pick(FROM_SERVERS))
    status = dice.pick(STATUSES) if dice.is_one_in(4) else 200
    if is_stream:
        data = _stream(dice, tool, task).encode(errors="surrogatepass")
    else:
        data, _ = encode(dice, _around(dice, _message(dice, tool, task), tool))
    if b"+AC" in data and dice.is_one_in(2):  # a run of UTF-7, which only this brings to life
        headers = with_value(headers, b"Content-Type", kinds[0] + b"; charset=utf-7")
    if any(value == b"gzip" for _, value in headers) and dice.is_one_in(2):
        data = gzip.compress(data, mtime=0)
    return Plan(_pieces(dice, data), status, headers, is_chunked=is_stream or dice.is_one_in(4))


def _stream(dice: Dice, tool: str, task: str) -> str:
    """Events, most with a message, some with things that only some readers take for an event."""
    end = dice.pick(("\n", "\n", "\r\n", "\r"))
    events = [_aside_event(dice, tool, end) for _ in range(dice.pick((0, 0, 1, 2)))]
    events.insert(dice.number(len(events)), _event(dice, _around(dice, _message(dice, tool, task), tool), tool, end))
    text = ("\ufeff" if dice.is_one_in(10) else "") + "".join(events)
    if dice.is_one_in(6):
        bad = f"data: {_bad_answer(tool)}"
        text += dice.pick((bad, bad + end, "data", "id: 9", ": x", "\ufeff", end))
    return text


def _aside_event(dice: Dice, tool: str, end: str) -> str:
    if not dice.is_one_in(3):
        return _event(dice, _aside(dice, tool), tool, end)
    return _smuggler(dice, tool, end) + end


def _event(dice: Dice, data: str, tool: str, end: str) -> str:
    lines = [f"data: {part}" for part in data.split("\n")] if not dice.is_one_in(6) else [f"data:{data}"]
    if dice.is_one_in(4) and "," in data:
        first, _, rest = data.partition(",")
        lines = [f"data: {first},", f"data: {rest}"]
    if dice.is_one_in(3):
        lines.insert(dice.number(len(lines)), dice.pick(_FIELDS))
    if dice.is_one_in(3):
        lines.insert(dice.number(len(lines)), _smuggler(dice, tool, end))
    joint = dice.pick(("\n", "\r", "\r\n")) if dice.is_one_in(8) else end
    return joint.join(lines) + joint + end


_FIELDS = (
    *(
        "event: message",
        "id: 7",
        "retry: 10",
        "event: odd",
        ": comment",
        "id",
        "id: a\0b",
        "id: a\u2028b",
        "id: \u20ac",
    ),
    *("retry: x", "retry: 99999999999999999999", "x: y", "data", "event:", "event: end\x85point", "id: 7\x0b"),
)
_ODD_NAMES = ("data ", "DATA", "Data", " data", "\ufeffdata", "data\0", "\tdata", "dat\u0430", "data\x0b", "\x0bdata")


def _smuggler(dice: Dice, tool: str, end: str) -> str:
    """A line that is no data by the book, with an event in it for somebody else."""
    bad, mark = _bad_answer(tool), dice.pick(CONTROLS)
    name = dice.pick(("id", "event", "retry", "x"))
    return dice.pick(
        (
            f": x{mark}data: {bad}{mark}{mark}",
            f"{name}: 1{mark}data: {bad}{mark}{mark}",
            f"{dice.pick(_ODD_NAMES)}: {bad}",
            f"{end}\ufeffdata: {bad}",  # a byte order mark where only the first event may have one
            f": {dice.pick(UTF7_RUNS)}",
        )
    )
