"""The filter for records, and the parser for times as people write them."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from handfast.clock import time_text
from handfast.core.call.exchange import RecordType, Status

_RELATIVE = re.compile(r"([0-9]{1,6})([smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordFilter:
    """A filter; empty fields do not restrict. Times are as in records; `since` is inclusive, `until` exclusive."""

    types: tuple[RecordType, ...] = ()
    statuses: tuple[Status, ...] = ()
    server: str = ""
    tool: str = ""
    rule: str = ""
    request_id: str = ""
    since: str = ""
    until: str = ""
    after: int = 0  # sequence, exclusive
    before: int | None = None  # sequence, exclusive
    limit: int | None = None


EVERYTHING = RecordFilter()


def parse_time(text: str, *, now: datetime) -> str:
    """Converts `15m`, `2h`, `7d` (that long ago) or ISO 8601 (UTC by default) to the form that records have.

    Raises: ValueError.
    """
    relative = _RELATIVE.fullmatch(text.strip())
    try:
        if relative is not None:
            return time_text(now - timedelta(**{_UNITS[relative[2]]: int(relative[1])}))
        moment = datetime.fromisoformat(text.strip())
        return time_text(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        raise ValueError("is not a time; write 15m, 2h, 7d, or ISO 8601 such as 2026-03-01T12:00:00Z") from None
