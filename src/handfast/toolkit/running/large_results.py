"""Large results in pieces: the first with the call itself, the others by continuation token."""

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from handfast.core.answers.errors import ErrorCode, ToolError, error_invalid_input
from handfast.core.answers.outcome import Succeeded
from handfast.core.answers.pieces import cut_list, cut_text, narrow
from handfast.core.call.protocol_arguments import CONTINUATION_TOKEN, FULL, ProtocolArguments
from handfast.toolkit.running.json_text import write_json
from handfast.toolkit.running.kept_results import CutResult, ResultStore
from handfast.toolkit.running.piece_form import PieceForm
from handfast.toolkit.writing.actor import label_of
from handfast.toolkit.writing.call import Call
from handfast.toolkit.writing.reply import Notice, Reply

_KEY_BYTES: Final = 24  # 192 random bits
_MOST_DIGITS: Final = 8
_GONE: Final = (
    "There is nothing to continue under this token: it is unknown, of another tool or caller, or too old."
    f" Call again without {CONTINUATION_TOKEN}."
)
_OTHERS: Final = f"The other arguments are not those of the first call. Send {CONTINUATION_TOKEN} alone."

_ONE_PAGE: Final = (
    "Only this page was looked at, and there are others. Search, or turn pages, with the tool's own parameters."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultOrigin:
    """The owner, tool and arguments of a result."""

    owner: str
    tool: str
    arguments: Mapping[str, object]


class LargeResults:
    """Cuts results that are too large for one answer, and keeps the rest for their callers."""

    def __init__(self, store: ResultStore) -> None:
        self._store = store

    @staticmethod
    def is_to_cut(outcome: Succeeded, form: PieceForm, wishes: ProtocolArguments) -> bool:
        """Whether the answer is a piece and not the whole. Data that is not JSON is left to the rules for results."""
        if wishes.narrowing:
            return True
        try:
            return wishes.mode != FULL and len(write_json(outcome.data)) > form.most
        except (TypeError, ValueError, RecursionError):
            return False

    async def first(
        self, outcome: Succeeded, form: PieceForm, wishes: ProtocolArguments, origin: ResultOrigin
    ) -> tuple[Succeeded, tuple[Notice, ...]]:
        """Cuts a result that was judged already: returns the first piece and keeps all."""
        most = None if wishes.mode == FULL else form.most
        beside, items = _opened(outcome, form)
        if items is None:
            text = write_json(outcome.data)
            pieces, total = cut_text(text, most or len(text)), None
        else:
            found, total = narrow(items, wishes)
            texts = [write_json(item) for item in found]
            pieces = cut_list(texts, most or sum(map(len, texts)) + len(texts) + 1)
        kept = CutResult(
            owner=origin.owner,
            tool=origin.tool,
            arguments=_digest(origin.arguments),
            pieces=tuple(pieces),
            total_items=total,
            beside=write_json(beside),
            items_key=form.items_key,
        )
        key = secrets.token_urlsafe(_KEY_BYTES) if len(pieces) > 1 else ""
        if key:
            await self._store.keep(key, kept)
        pagination = None if "pagination" in beside else outcome.pagination
        told = (*_notices(kept, key, 0), *_about_page(beside, wishes))
        return Succeeded(_piece(kept, key, 0), pagination), told

    async def run_next(self, _model: Any, arguments: dict[str, Any], call: Call) -> Any:  # Any: as `Run` has them
        """Runs instead of a tool when a token is sent. Raises: ToolError."""
        key, _, digits = str(arguments.pop(CONTINUATION_TOKEN)).rpartition(".")
        is_number = digits.isascii() and digits.isdecimal() and len(digits) <= _MOST_DIGITS
        kept = await self._store.find(key) if key and is_number else None
        is_theirs = kept is not None and kept.owner == label_of(call.actor) and kept.tool == call.tool
        if kept is None or not is_theirs or int(digits) >= len(kept.pieces):
            raise ToolError(ErrorCode.NOT_FOUND, _GONE)
        if arguments and _digest(arguments) != kept.arguments:
            raise error_invalid_input(_OTHERS)
        notices = _notices(kept, key, int(digits))
        return Reply(_piece(kept, key, int(digits)), *(notice.model_dump() for notice in notices))


def _opened(outcome: Succeeded, form: PieceForm) -> tuple[dict[str, Any], list[Any] | None]:  # Any: JSON
    """The members beside the items in every piece, and the items; None if the result is cut as text."""
    data = outcome.data
    if not form.is_list:
        return {}, None
    if isinstance(data, dict):
        items = data.get(form.items_key)
        return {key: value for key, value in data.items() if key != form.items_key}, items if isinstance(
            items, list
        ) else []
    is_page = form.is_object and outcome.pagination is not None
    beside = {"pagination": dict(outcome.pagination or {})} if is_page else {}
    return beside, data if isinstance(data, list) else []


def _piece(kept: CutResult, key: str, number: int) -> dict[str, Any]:  # Any: JSON
    about: dict[str, Any] = {"number": number + 1, "of": len(kept.pieces)}  # Any: as above
    text = kept.pieces[number]
    if kept.total_items is None:
        found: dict[str, Any] = {"text": text.decode()}  # Any: as above
    else:
        found = {**json.loads(kept.beside), kept.items_key: json.loads(text)}
        about["total_items"] = kept.total_items
    about[CONTINUATION_TOKEN] = _token(kept, key, number)
    return {**found, "piece": about}


def _token(kept: CutResult, key: str, number: int) -> str | None:
    """The token of the next piece, or None. A token may be used again, so a lost answer can be fetched again."""
    return f"{key}.{number + 1}" if number + 1 < len(kept.pieces) else None


def _notices(kept: CutResult, key: str, number: int) -> tuple[Notice, ...]:
    token = _token(kept, key, number)
    if token is None:
        return ()
    how = write_json({CONTINUATION_TOKEN: token}).decode()
    return (
        Notice(text=f"Piece {number + 1} of {len(kept.pieces)}. For the next call again with the arguments {how}."),
    )


def _about_page(beside: Mapping[str, Any], wishes: ProtocolArguments) -> tuple[Notice, ...]:  # Any: JSON
    """A notice that only one page was searched, if the page has links to others."""
    is_one_of_several = bool(beside.get("next") or beside.get("previous"))
    is_chosen = bool(wishes.filters or wishes.page or wishes.page_size)
    return (Notice(text=_ONE_PAGE),) if is_chosen and is_one_of_several else ()


def _digest(arguments: Mapping[str, object]) -> str:
    return sha256(json.dumps(arguments, sort_keys=True).encode()).hexdigest()
