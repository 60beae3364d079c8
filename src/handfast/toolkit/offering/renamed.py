"""A tool's old name: it works until a date, is marked as deprecated, and afterwards points to the new name."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Final

import msgspec

from handfast.core.answers.codes import CodeBook
from handfast.core.answers.errors import ErrorCode
from handfast.core.answers.outcome import Failed, make_failure
from handfast.toolkit.running.dispatch import Answer, RegisteredTool
from handfast.toolkit.writing.reply import Notice

META_DEPRECATED: Final = "handfast/deprecated"

Today = Callable[[], date]


def today_utc() -> date:
    return datetime.now(UTC).date()


@dataclass(frozen=True, slots=True, kw_only=True)
class Renamed:
    """An old name. `until` is the last day, in UTC, on which it works."""

    name: str
    tool: RegisteredTool  # under its new name
    until: date

    def is_over(self, today: date) -> bool:
        return today > self.until

    @property
    def new_name(self) -> str:
        return self.tool.spec.name

    @property
    def _words(self) -> str:
        return f"The tool '{self.name}' is now called '{self.new_name}'"

    @property
    def under_old_name(self) -> RegisteredTool:
        """The tool as it is listed under the old name, with a note before its description."""
        words = f"Deprecated: use {self.new_name} instead. This name works until {self.until}."
        spec = replace(self.tool.spec, name=self.name, description=f"{words}\n\n{self.tool.spec.description}")
        return replace(self.tool, spec=spec)

    def refusal(self, codes: CodeBook) -> Failed:
        text = f"{self._words}, and the old name stopped working after {self.until}. Call it by the new one."
        return make_failure(ErrorCode.NOT_FOUND, text, codes, use=self.new_name)

    def told(self, answer: Answer) -> Answer:
        """The answer with a notice of the new name, also in its `_meta`."""
        notice = Notice(text=f"{self._words}; the old name works until {self.until}. Use the new one from now on.")
        meta = {META_DEPRECATED: {"use": self.new_name, "until": self.until.isoformat()}}
        return msgspec.structs.replace(answer, blocks=(notice, *answer.blocks), meta={**(answer.meta or {}), **meta})
