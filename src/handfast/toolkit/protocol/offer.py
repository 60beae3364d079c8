"""What stands behind the endpoint for one caller, as the protocol's half needs it: nothing here knows Django."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from handfast.toolkit.running.dispatch import Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    name: str
    version: str
    instructions: str
    refuses_by_protocol: bool  # arguments that were refused are an error of the protocol, and not a result

    list_tools: Callable[[], Sequence[Mapping[str, Any]]]  # Any: JSON
    call: Callable[[str, bytes | None], Answer]
    """A tool's name and its arguments as they came. Raises: UnknownTool, RecordingFailed."""

    mirrored: Callable[[str], bytes | None]
    """The input schema of a tool that wants arguments repeated in headers; None for every other."""

    report: Callable[[Exception], str]
    """Puts what nobody foresaw into the log, and gives the id under which it stands there."""

    @property
    def server_info(self) -> dict[str, str]:
        return {"name": self.name, "version": self.version}
