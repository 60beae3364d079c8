"""One JSON-RPC message, decoded only down to its envelope: members are raw slices, every pair is kept in order."""

import re
from collections.abc import Collection, Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from handfast.core.words.printable import fold_name
from handfast.wire.codes import INVALID_REQUEST, PARSE_ERROR
from handfast.wire.methods import find_method_fault
from handfast.wire.scan import (
    COUNTED_FROM,
    TOO_DEEP,
    Member,
    NotJson,
    OverBound,
    PairKey,
    decode_counted,
    ordered_pairs,
    read_key,
    read_pairs,
    scan_object,
)
from handfast.wire.splice import edit_body, put, swap_id

RequestId = str | int | float
_ID_KINDS: Final = (str, int, float, type(None))  # a tuple, because each message would build the union anew

# A level of the message: pairs in order, each value the raw bytes.
_Pairs = dict[PairKey, msgspec.Raw]


class _Array(msgspec.Struct, array_like=True):
    """A list where the envelope has none; its items are skipped."""


# One pass reads two levels: objects below the top become pairs, lists are skipped, other values are decoded.
_Envelope = dict[PairKey, _Pairs | _Array | str | int | float | bool | None]


_envelope_decoder: Final = msgspec.json.Decoder(_Envelope, dec_hook=read_key)

# Names that we read. A peer that folds case or drops NUL would take a near miss for the real name, so a near miss is
# as ambiguous as a duplicate.
_READ = (
    "jsonrpc",
    "id",
    "method",
    "params",
    "result",
    "error",
    "name",
    "arguments",
    "_meta",
    "cursor",
    "uri",
    "requestId",
    "progressToken",
    "protocolVersion",
    "capabilities",
    "clientInfo",
    "level",
    "content",
    "structuredContent",
    "isError",
    "resultType",
    "tools",
    "nextCursor",
    "inputSchema",
    "outputSchema",
    "annotations",
    "requestState",
    "inputResponses",
    "taskId",
    "task",
    "status",
    # Members of `_meta`. `eras` has constants for them, but imports this file.
    "io.modelcontextprotocol/protocolVersion",
    "io.modelcontextprotocol/clientCapabilities",
    "io.modelcontextprotocol/clientInfo",
    "io.modelcontextprotocol/subscriptionId",
    "io.modelcontextprotocol/logLevel",
    "io.modelcontextprotocol/serverInfo",
)
_FOLDED: Final = {name: fold_name(name) for name in _READ}
_READ_FOLDED: Final = frozenset(_FOLDED.values())
_OWN: Final = frozenset(_READ)


class BadMessage(Exception):
    """A message that must not be forwarded. `id` is the request's id, if it could be read, for the answer."""

    def __init__(self, code: int, reason: str, request_id: RequestId | None = None, *, is_text: bool = False) -> None:
        """`is_text`: it is not even meant as one, but words for people."""
        super().__init__(reason)
        self.is_text = is_text
        self.code = code
        self.reason = reason
        self.id = request_id


class AmbiguousKeys(Exception):
    """Two parsers could read this level of a message differently."""


Members = dict[str, msgspec.Raw]  # exact name → raw value, a view into the message until `bytes()` copies it


def check_names(names: Collection[str], count: int) -> None:
    """Refuses names that a peer which folds case, or drops NUL and blanks, takes for equal. Raises: AmbiguousKeys."""
    if len(names) == count and _OWN.issuperset(names):
        return  # the usual case: only names of the protocol, each once
    folded = set()
    for name in names:
        known = _FOLDED.get(name)
        if known is None:
            known = fold_name(name)
            if known in _READ_FOLDED:
                raise AmbiguousKeys("a key is spelled almost like one of the protocol's own")
        folded.add(known)
    if len(folded) != count:
        raise AmbiguousKeys("a key occurs twice")


def read_level(text: bytes) -> Members:
    """One object's members as raw slices. Raises: AmbiguousKeys, NotJson."""
    try:
        return _members(ordered_pairs.decode(text) if len(text) < COUNTED_FROM else read_pairs(text))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _scanned_level(text)


def _members(pairs: _Pairs) -> Members:
    members = {key.text: value for key, value in pairs.items()}
    check_names(members, len(pairs))
    return members


def _scanned_level(text: bytes) -> Members:
    found = scan_object(text, allows_constants=True)
    members = {member.key: msgspec.Raw(text[member.value_start : member.value_end]) for member in found}
    check_names(members, len(found))
    return members


@dataclass(slots=True)
class Message:
    """A request, notification or answer, depending on its members; `raw` is what was received and is forwarded."""

    raw: bytes
    id: RequestId | None = None
    method: str | None = None
    has_error: bool = False
    is_version_2: bool = field(default=False, compare=False)  # of JSON-RPC; a relay leaves judging this to the peer
    _error: _Pairs | bytes | None = None
    _params: _Pairs | bytes | None = None
    _result: _Pairs | bytes | None = None
    _param_members: Members | None = field(default=None, compare=False)
    _meta_members: Members | None = field(default=None, compare=False)
    _result_members: Members | None = field(default=None, compare=False)

    @property
    def is_request(self) -> bool:
        return self.method is not None and self.id is not None

    @property
    def is_notification(self) -> bool:
        return self.method is not None and self.id is None

    @property
    def is_answer(self) -> bool:
        return self.method is None

    def params(self) -> Members:
        """The members of params, empty if there are none; not to be changed. Raises: AmbiguousKeys, NotJson."""
        if self._param_members is None:
            self._param_members = _level(self._params)  # kept, because every call needs them more than once
        return self._param_members

    def called_tool(self) -> str | None:
        """The tool that a tools/call names; None for any other message, and for a call without a readable tool name."""
        try:
            return msgspec.json.decode(self.params()["name"], type=str) if self.method == "tools/call" else None
        except (AmbiguousKeys, NotJson, KeyError, msgspec.DecodeError, UnicodeDecodeError):
            return None

    def result(self) -> Members | None:
        """The members of result, None if it is not an object; not to be changed. Raises: AmbiguousKeys, NotJson."""
        if self._result_members is None and self._result is not None:
            self._result_members = _level(self._result)
        return self._result_members

    def result_may_have(self, names: frozenset[str]) -> bool:
        """Whether the result may have a member of one of these names: True also if only decoding could show it."""
        if self._result_members is not None:
            return not names.isdisjoint(self._result_members)
        found = self._result
        return not isinstance(found, dict) or any(key.text in names for key in found)

    def error_code(self) -> int | None:
        """The code of an error answer, or None."""
        try:
            return msgspec.json.decode(_level(self._error)["code"], type=int)
        except (KeyError, AmbiguousKeys, NotJson, msgspec.DecodeError):
            return None

    def may_mention(self, name: str) -> bool:
        """Whether params or its _meta may have a key of this name: a cheap search that saves decoding."""
        params, members = self._params, self._param_members
        if len(self.raw) >= COUNTED_FROM and members is not None:
            return name in members or ("_meta" in members and _may_hold(bytes(members["_meta"]), name))
        if len(self.raw) < COUNTED_FROM or not isinstance(params, dict):
            return _may_hold(self.raw, name)
        return any(key.text == name or (key.text == "_meta" and _may_hold(bytes(params[key]), name)) for key in params)

    def reread(self) -> None:
        """Reads the envelope again after `raw` was changed below the top level."""
        again = read_message(self.raw)
        self._params, self._result, self._error = again._params, again._result, again._error
        self._param_members = self._meta_members = self._result_members = None

    def forget(self) -> None:
        """Drops everything but the id and the method, which suffice to pair an answer with its request."""
        self.raw = b""
        self._params = self._result = self._error = None
        self._param_members = self._meta_members = self._result_members = None

    def meta(self) -> Members:
        """The members of params._meta; callers must not change them. Raises: AmbiguousKeys, NotJson."""
        if self._meta_members is None:
            # Kept, because the choice of the route and every check of a modern request read it.
            text = bytes(self.params().get("_meta", b""))
            self._meta_members = read_level(text) if text.startswith(b"{") else {}
        return self._meta_members

    def with_id(self, request_id: RequestId | None) -> "Message":
        """The same request or answer with this id. Raises: LookupError if the message has no id."""
        if request_id == self.id:
            return self
        changed = copy(self)
        changed.raw, changed.id = swap_id(self.raw, msgspec.json.encode(request_id))[0], request_id
        return changed

    def with_members(self, values: Mapping[str, bytes | None]) -> "Message":
        """The same message with these members of params, or of an answer's result: raw JSON, or None to remove one.

        All other bytes stay, and the message is not parsed again. Raises: AmbiguousKeys, NotJson.
        """
        found = (self.result() or {}) if self.method is None else self.params()
        raw = edit_body(self.raw, "result" if self.method is None else "params", found, values)
        members = found | {name: msgspec.Raw(value) for name, value in values.items() if value is not None}
        for name, value in values.items():
            if value is None:
                members.pop(name, None)
        changed = Message(raw, self.id, self.method, is_version_2=self.is_version_2)
        if self.method is None:
            changed._result_members = members
        else:
            changed._param_members = members
            changed._meta_members = None if "_meta" in values else self._meta_members
        return changed

    def with_meta(self, values: Members) -> "Message":
        """The same request with these members of _meta, which is added if absent. Raises: AmbiguousKeys, NotJson."""
        text = bytes(self.params().get("_meta", b""))
        if text.startswith(b"{"):
            text = put(text, {(name,): bytes(value) for name, value in values.items()})
        else:
            text = msgspec.json.encode(values)
        changed = self.with_members({"_meta": text})
        changed._meta_members = self.meta() | values
        return changed


def _may_hold(text: bytes, name: str) -> bool:
    # Escapes may spell any name. `find` is faster than `in`, which for bytes first tries the operand as a number.
    return text.find(b"\\") >= 0 or text.find(name.encode()) >= 0


def _level(found: _Pairs | bytes | None) -> Members:
    if found is None:
        return {}
    if isinstance(found, bytes):
        return read_level(found)
    return _members(found)


_ID_FIRST = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*("[^"\\\\]{0,256}"|-?[0-9]{1,20})\s*,')


def id_in_head(head: bytes) -> RequestId | None:
    """The id of a message, if it stands within the beginning that was kept."""
    found = _ID_FIRST.match(head)
    try:
        return None if found is None else msgspec.json.decode(found[1], type=str | int)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None  # what could not be read may be the id itself


def read_message(raw: bytes) -> Message:
    """Decodes the envelope of one message.

    Raises: BadMessage, with the JSON-RPC code to answer.
    """
    if not raw.isascii():
        try:
            raw.decode()
        except UnicodeDecodeError:
            reason = "The message is not valid UTF-8. Send JSON text in UTF-8."
            raise BadMessage(PARSE_ERROR, reason, id_in_head(raw)) from None
    try:
        top = _envelope_decoder.decode(raw) if len(raw) < COUNTED_FROM else decode_counted(raw, _Envelope)
    except msgspec.DecodeError:
        return _read_carefully(raw)
    except RecursionError:
        raise _over_bound(raw, OverBound(TOO_DEEP)) from None
    except OverBound as problem:
        raise _over_bound(raw, problem) from None
    return _assemble(raw, {key.text: value for key, value in top.items()}, len(top))


_OBJECT_BEGINS = re.compile(rb"[ \t\r\n]*\{")
_ARRAY_BEGINS = re.compile(rb"[ \t\r\n]*\[[ \t\r\n]*[{\[\]]")


class _OnlyId(msgspec.Struct):
    id: str | int | float | None = None


_ID_LAST = re.compile(rb',\s*"id"\s*:\s*("[^"\\\\]{0,256}"|-?[0-9]{1,20})\s*\}\s*\Z')


def _over_bound(raw: bytes, problem: OverBound) -> BadMessage:
    """The refusal of a message that exceeds a bound, with the id of the failed request if it can be found."""
    try:
        found = msgspec.json.decode(raw, type=_OnlyId).id
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        found = _id_at_an_end(raw)
    return BadMessage(INVALID_REQUEST, f"The message is not read further: {problem}", found)


def _id_at_an_end(raw: bytes) -> RequestId | None:
    """The id, if it is the first or the last member, where nearly all clients write it."""
    last = _ID_LAST.search(raw, max(len(raw) - 512, 0))
    return id_in_head(raw) if last is None else id_in_head(b'{"id":' + last[1] + b",")


def _read_carefully(raw: bytes) -> Message:
    """Reads a message that the fast decoder refuses although it is readable: with lone surrogates, or 1e400."""
    if raw.lstrip(b" \t\r\n").startswith(b"["):
        is_text = _ARRAY_BEGINS.match(raw) is None  # as of "[INFO] starting"
        raise BadMessage(INVALID_REQUEST, "A batch is not supported. Send one message at a time.", is_text=is_text)
    try:
        if not (_OBJECT_BEGINS.match(raw) and raw.rstrip(b" \t\r\n").endswith(b"}")):
            raise NotJson(0)
        found, is_json = _scan(raw)
    except OverBound as problem:
        raise _over_bound(raw, problem) from None
    except NotJson:
        reason = "The message is not a JSON object. Send one JSON-RPC message."
        raise BadMessage(PARSE_ERROR, reason, id_in_head(raw), is_text=_OBJECT_BEGINS.match(raw) is None) from None
    top: dict[str, object] = {}
    for member in found:
        value = raw[member.value_start : member.value_end]
        top[member.key] = value if value[:1] in b"{[" else _scalar(value)
    message = _assemble(raw, top, len(found))
    if message.method is not None and not is_json:
        # In an answer they are judged with the result; in a request each server may read them differently.
        reason = "The message holds NaN or Infinity, which JSON does not have. Send numbers, or null."
        raise BadMessage(PARSE_ERROR, reason, message.id)
    return message


def _scan(raw: bytes) -> tuple[list[Member], bool]:
    """The members, and whether the text is JSON, lone surrogates allowed. Raises: NotJson, OverBound."""
    try:
        return scan_object(raw), True
    except OverBound:
        raise
    except NotJson:
        if raw.find(b"N") < 0 and raw.find(b"I") < 0:  # a single letter is found at the speed of memory
            raise
        return scan_object(raw, allows_constants=True), False


def _scalar(text: bytes) -> object:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return NotImplemented  # not a valid id or method; other top-level scalars are not read


def _assemble(raw: bytes, top: dict[str, Any], count: int) -> Message:  # Any: values of several decoded kinds
    request_id = top.get("id")
    if isinstance(request_id, bool) or not isinstance(request_id, _ID_KINDS):
        raise BadMessage(INVALID_REQUEST, "The id must be a string or a number.")
    try:
        check_names(top, count)
    except AmbiguousKeys as problem:
        raise BadMessage(
            INVALID_REQUEST, f"The message is ambiguous: {problem}. Send each key once.", request_id
        ) from None
    method = top.get("method")
    params = top.get("params")
    if method is None:
        return _assemble_answer(raw, request_id, top)
    if not isinstance(method, str) or "result" in top or "error" in top:
        raise BadMessage(INVALID_REQUEST, "The message is neither a request nor an answer.", request_id)
    if "id" in top and request_id is None:
        raise BadMessage(INVALID_REQUEST, "The id of a request must not be null.")
    if params is not None and not _is_object(params):
        raise BadMessage(INVALID_REQUEST, "params must be an object.", request_id)
    fault = find_method_fault(method, has_id=request_id is not None)
    if fault is not None:
        raise BadMessage(INVALID_REQUEST, fault, request_id)
    return Message(raw, request_id, method, is_version_2=top.get("jsonrpc") == "2.0", _params=params)


def _assemble_answer(raw: bytes, request_id: RequestId | None, top: dict[str, Any]) -> Message:  # Any: as above
    if ("result" in top) == ("error" in top) or "id" not in top:
        raise BadMessage(INVALID_REQUEST, "The message is neither a request nor an answer.", request_id)
    result, error = top.get("result"), top.get("error")
    return Message(
        raw,
        request_id,
        has_error="error" in top,
        is_version_2=top.get("jsonrpc") == "2.0",
        _error=error if _is_object(error) else None,
        _result=result if _is_object(result) else None,
    )


def _is_object(value: object) -> bool:
    return isinstance(value, dict) or (isinstance(value, bytes) and value.startswith(b"{"))
