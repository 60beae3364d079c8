"""A tool's old name: it works for its window, says so wherever it is seen, and then points to the new one."""

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
    """`until` is the last day, in UTC, on which the old name works."""

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
        """As it is listed: the same tool, with words before its description."""
        words = f"Deprecated: use {self.new_name} instead. This name works until {self.until}."
        spec = replace(self.tool.spec, name=self.name, description=f"{words}\n\n{self.tool.spec.description}")
        return replace(self.tool, spec=spec)

    def refusal(self, codes: CodeBook) -> Failed:
        text = f"{self._words}, and the old name stopped working after {self.until}. Call it by the new one."
        return make_failure(ErrorCode.NOT_FOUND, text, codes, use=self.new_name)

    def told(self, answer: Answer) -> Answer:
        """The same answer, with the new name after it and in its `_meta`."""
        notice = Notice(text=f"{self._words}; the old name works until {self.until}. Use the new one from now on.")
        meta = {META_DEPRECATED: {"use": self.new_name, "until": self.until.isoformat()}}
        return msgspec.structs.replace(answer, blocks=(notice, *answer.blocks), meta={**(answer.meta or {}), **meta})
