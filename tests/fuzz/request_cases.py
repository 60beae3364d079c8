"""Requests that are odd: in their keys, ids, methods, arguments, blanks, characters, and in the headers around them."""

import base64
import gzip
import json
import zlib
from hashlib import sha256

from hypothesis import strategies as st

from tests.fuzz.client import Headers
from tests.fuzz.headers import CODINGS, FROM_CLIENTS, JSON_TYPES, UTF7_TYPES, with_one_more, with_value
from tests.fuzz.promises import GOOD_ARGUMENTS
from tests.fuzz.routes import META_TEXT, Route
from tests.fuzz.stage import Case, plain_headers
from tests.fuzz.texts import (
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
    words,
)

TOOLS = ("pay", "note", "match")
NAMES = (
    "pay",
    "note",
    "match",
    "hidden",
    "PAY",
    r"pay\u0000",
    " pay",
    "pay ",
    r"p\u0061y",
    "Pay",
    "\u212aay",
    "",
    "help",
)
IDS = (
    *("@N@", '"r@N@"', "@N@.0", "@N@.5", "@N@e0", "-@N@", "0@N@", "null", "true", "[]", "{}", '""', '"@N@\\n"'),
    *('"\\u0000@N@"', '"\\ud800@N@"', "1" + "0" * 30, "1e400", "-0", "NaN", '"probe"', '"handfast-1"', "1", "0"),
)
METHODS = (
    *words("tools/call ping tools/list notifications/progress notifications/cancelled notifications/initialized"),
    *words(
        "notifications/tools/call notifications/../tools/call Tools/Call tools\\/call tools/\\u0063all tool\u017f/call"
    ),
    *words(
        "resources/read resources/list prompts/get prompts/list completion/complete tasks/get tasks/result tasks/cancel"
    ),
    *words(
        "server/discover resources/templates/list rpc.x notifications/ notifications notifications\\u0000/x tools/call/"
    ),
    *("tools/call ", " tools/call", "tools/call\\u0000", "", "tools/call\\n"),
)
BAD_ARGUMENTS = (
    *(
        '{"amount":"1"}',
        '{"data":{"amount":1}}',
        '{"amount":1,"config":{}}',
        "null",
        "[]",
        '"x"',
        "7",
        "{}",
        '{"text":7}',
    ),
    *('{"code":"xab"}', '{"code":"ab","data":{"code":"ab"}}', '{"amount":1,"amount":{}}', '{"objects":[{"amount":1}]}'),
)


@st.composite
def request_cases(draw: Draw, routes: tuple[Route, ...]) -> Case:
    dice = Dice(draw)
    route = dice.pick(routes)
    tool = dice.pick(TOOLS)
    message = _base(dice, route, tool)
    for _ in range(dice.pick((1, 0, 1, 1, 2, 3))):
        dice.pick(_MUTATIONS)(dice, message, route)
    body, charset = encode(dice, _around(dice, message.render(blanks(dice)), route))
    if route.is_line:
        return Case(route, body, tool=tool)
    method = message.get("method")
    headers = plain_headers(route, method.strip('"') if isinstance(method, str) else "tools/call", tool)
    headers, body = _dress(dice, headers, body, charset)
    return Case(route, body, headers, tool=tool)


def _base(dice: Dice, route: Route, tool: str) -> Obj:
    """A plain call most of the time; else something that must not be one."""
    message = Obj()
    message.add("jsonrpc", '"2.0"')
    kind = dice.pick((*("call",) * 5, "other", "other", "notification", "call without id", "answer"))
    if kind == "answer":  # of the client's, to something that no server asked
        message.add("id", dice.pick(('"ask"', *IDS)))
        message.add("result", '{"content":[],"structuredContent":{"total":"3"}}')
        return message
    if kind in ("call", "other"):
        message.add("id", dice.pick(IDS) if dice.is_one_in(4) else "@N@")
    method = "tools/call"
    if kind == "other":
        method = dice.pick(METHODS)
    elif kind == "notification":
        method = dice.pick(("notifications/progress", "notifications/cancelled", "notifications/x"))
    message.add("method", quoted(method))
    params = Obj()
    if kind.startswith("call") or dice.is_one_in(2):
        params.add("name", quoted(route.call_name(tool)))
        params.add("arguments", _plain_arguments(route, tool))
    if route.is_modern:
        params.add("_meta", META_TEXT)
    message.add("params", params)
    return message


def _plain_arguments(route: Route, tool: str) -> Obj:
    arguments = Obj()
    for key, value in json.loads(GOOD_ARGUMENTS[tool]).items():
        arguments.add(key, json.dumps(value))
    if not route.server.is_compact:
        return arguments
    outer = Obj()
    outer.add("action", quoted(tool))
    outer.add("arguments", arguments)
    return outer


# --- one oddity each -----------------------------------------------------------------------------------------------


def _params(message: Obj) -> Obj:
    """Its params; where they are something else, an object that nobody sees."""
    found = message.get("params")
    return found if isinstance(found, Obj) else Obj()


def _holder(message: Obj, route: Route) -> Obj:
    """What holds the arguments of the tool itself."""
    params = _params(message)
    outer = params.get("arguments")
    return outer if route.server.is_compact and isinstance(outer, Obj) else params


def _repeat_member(dice: Dice, message: Obj, route: Route) -> None:
    """A member again, under a name that some reader takes for the same."""
    level = dice.pick(message.levels())
    if not level.pairs:
        return
    key, value = dice.pick(level.pairs)
    call = f'{{"name":"{route.call_name("pay")}","arguments":{{"amount":{{}}}}}}'
    texts = ('"tools/call"', '"hidden"', quoted(route.call_name("note")), '{"amount":{}}', "7", "null", '"2.0"', call)
    level.insert(dice, respell(dice, key.strip('"')), dice.pick((value, *texts)))


def _hide_call(dice: Dice, message: Obj, route: Route) -> None:
    """Everything of a call again, under names that only some readers take for it."""
    for key, value in (("method", '"tools/call"'), ("params", '{"name":"hidden","arguments":{}}')):
        message.insert(dice, respell(dice, key), value)


def _hide_in_utf7(dice: Dice, message: Obj, route: Route) -> None:
    """A string that says more to a reader who takes it for UTF-7."""
    call = '","method":"tools/call","params":{"name":"hidden","arguments":{}},"z":"'
    texts = (call, '","name":"hidden","z":"', '","amount":{},"z":"')
    levels = message.levels()
    at = dice.number(min(len(levels), len(texts)) - 1)
    levels[at].add("x", quoted(utf7(texts[at])))


def _change_id(dice: Dice, message: Obj, route: Route) -> None:
    if dice.is_one_in(3):
        message.drop("id")
    else:
        message.put("id", dice.pick(IDS))


def _change_method(dice: Dice, message: Obj, route: Route) -> None:
    message.put("method", quoted(dice.pick(METHODS)))


def _change_name(dice: Dice, message: Obj, route: Route) -> None:
    params = _params(message)
    inner = params.get("arguments")
    if dice.is_one_in(6):
        params.put("name", dice.pick(VALUES))
    elif route.server.is_compact and isinstance(inner, Obj) and not dice.is_one_in(3):
        inner.put("action", quoted(dice.pick(NAMES)))
    else:
        params.put("name", quoted(route.prefix + dice.pick(NAMES)))


def _add_near_argument(dice: Dice, message: Obj, route: Route) -> None:
    arguments = _holder(message, route).get("arguments")
    if isinstance(arguments, Obj):
        key = dice.pick(words("amount to text task code action arguments extra"))
        for _ in range(dice.pick((1, 1, 2))):
            arguments.insert(dice, respell(dice, key), dice.pick(('"x"', "1", "{}", "[]")))


def _change_arguments(dice: Dice, message: Obj, route: Route) -> None:
    _holder(message, route).put("arguments", dice.pick(BAD_ARGUMENTS))


def _change_value(dice: Dice, message: Obj, route: Route) -> None:
    """Some value is an odd number or string, or something quite different."""
    level = dice.pick(message.levels())
    if not level.pairs:
        return
    index = dice.number(len(level.pairs) - 1)
    kind = dice.number(3)
    if kind < 2:
        odd = string(dice) if kind else dice.pick(NUMBERS)
    else:
        odd = dice.pick(VALUES) if kind == 2 else deep(dice.pick((3, 70, 1100)))
    level.pairs[index] = (level.pairs[index][0], odd)


def _add_member(dice: Dice, message: Obj, route: Route) -> None:
    level = dice.pick(message.levels())
    texts = (quoted(dice.pick(UTF7_RUNS)), deep(1100), _smuggled(dice))
    value = dice.pick((string(dice), dice.pick(NUMBERS), dice.pick(VALUES), *texts))
    key = dice.pick(words("x task requestState inputResponses result error __proto__ constructor toString"))
    level.insert(dice, key, value)


def _smuggle_line(dice: Dice, message: Obj, route: Route) -> None:
    end = dice.pick(("\n", "\r", "\r\n", "\x0b", "\u2028", "\x85"))
    dice.pick(message.levels()).add("x", end + _smuggled(dice) + end)


def _smuggled(dice: Dice) -> str:
    tool = dice.pick(("hidden", "pay"))
    return f'{{"jsonrpc":"2.0","id":9@N@,"method":"tools/call","params":{{"name":"{tool}","arguments":{{}}}}}}'


def _change_meta(dice: Dice, message: Obj, route: Route) -> None:
    prefix = "io.modelcontextprotocol/"
    key = dice.pick(("progressToken", f"{prefix}protocolVersion", f"{prefix}logLevel", f"{prefix}clientInfo", "x"))
    value = dice.pick((*VALUES, '"2025-11-25"', '"debug"', *NUMBERS[:6], string(dice)))
    start = META_TEXT[:-1] + "," if route.is_modern and not dice.is_one_in(4) else "{"
    _params(message).put("_meta", f'{start}"{key}":{value}}}')


def _hand_back(dice: Dice, message: Obj, route: Route) -> None:
    """Something that a client is to hand back as it was given, and does not."""
    purpose = dice.pick(("tools/list", "state", "requestState", "task", "prompts/list", "resources/list"))
    own = dice.pick(('"c"', '"c","x":1', '1}},"id":7', "null", '"\\ud800"', "{", ""))
    name = route.server.name
    content = dice.pick(([[name, own]], [name, own], [[name, own], [name, own]], [["nobody", own]], own, [[name, 1]]))
    forged = dice.pick((_forge(purpose, content), "hf1.", "hf1.AAAA", "x", "hf2." + _forge(purpose, content)[4:]))
    key = dice.pick(words("cursor requestState taskId uri"))
    _params(message).put(key, dice.pick((*VALUES, *NUMBERS)) if dice.is_one_in(6) else quoted(forged))
    if not dice.is_one_in(3):
        message.put("method", quoted(dice.pick(words("tools/list prompts/list resources/list tasks/get tools/call"))))


def _forge(purpose: str, content: object) -> str:
    """What a text looks like that the combined endpoint gave out, made without any key."""
    payload = json.dumps([purpose, content], separators=(",", ":")).encode()
    check = sha256(b"handfast " + payload).digest()[:9]
    return "hf1." + base64.urlsafe_b64encode(check + payload).rstrip(b"=").decode()


_MUTATIONS = (
    _repeat_member,
    _repeat_member,
    _hide_call,
    _hide_in_utf7,
    _change_id,
    _change_method,
    _change_name,
    _add_near_argument,
    _change_arguments,
    _change_value,
    _add_member,
    _smuggle_line,
    _change_meta,
    _hand_back,
)


def _around(dice: Dice, text: str, route: Route) -> str:
    """What stands before and behind the message."""
    if not dice.is_one_in(5):
        return text
    other = _smuggled(dice)
    behind = (other, " " + other, "\0", "//", "}", "\n" + other, "\u2028" + other, "\x0b" + other, "\n", ",", "\x1e")
    before = ("\ufeff", "\x1e", "/**/", "\n", "ping\n", other + "\r", other, "\0")
    whole = (f"[{text}]", f"[{text},{other}]", text[:-1], "[]", quoted(text), "", json.dumps(text))
    return dice.pick((*(text + piece for piece in behind), *(piece + text for piece in before), *whole))


# --- headers -------------------------------------------------------------------------------------------------------


def _dress(dice: Dice, headers: Headers, body: bytes, charset: str) -> tuple[Headers, bytes]:
    """The headers of a plain client with something odd among them, and the body that fits."""
    if charset != "utf-8" and dice.is_one_in(2):
        headers = with_value(headers, b"Content-Type", b"application/json; charset=" + charset.encode())
    if b"+AC" in body and dice.is_one_in(2):  # a run of UTF-7, which only this brings to life
        headers = with_value(headers, b"Content-Type", dice.pick(UTF7_TYPES))
    if not dice.is_one_in(2):
        return headers, body
    for _ in range(dice.pick((1, 1, 2))):
        headers, body = _change_headers(dice, headers, body)
    return headers, body


def _change_headers(dice: Dice, headers: Headers, body: bytes) -> tuple[Headers, bytes]:
    kind = dice.number(8)
    if kind <= 1:
        return with_value(headers, b"Content-Type", dice.pick(JSON_TYPES)), body
    if kind == 2:
        coding = dice.pick(CODINGS)
        if dice.is_one_in(2):
            body = gzip.compress(body, mtime=0) if b"gzip" in coding else zlib.compress(body)
        return with_one_more(dice, headers, (b"Content-Encoding", coding)), body
    if kind == 3:
        return with_one_more(dice, headers, (b"Content-Type", dice.pick(JSON_TYPES))), body
    if kind == 4:
        without = dice.pick(headers)
        return tuple(header for header in headers if header is not without), body
    name, value = dice.pick(FROM_CLIENTS)
    if dice.is_one_in(2):
        headers = tuple(header for header in headers if header[0].lower() != name.lower())
    return with_one_more(dice, headers, (name, value)), body
