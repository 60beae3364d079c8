"""A desk in the darkroom: calls tools in this process, on the path that every client's call takes."""

import asyncio
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any  # JSON, as tools answer

from mcp.types import ImageContent

from darkroom.studio import Studio
from darkroom.tools import build_tools
from handfast.toolkit import Answer, Toolbox


@dataclass
class Desk:
    studio: Studio
    tools: Toolbox = field(init=False)

    def __post_init__(self) -> None:
        self.tools = build_tools(self.studio)

    @property
    def root(self) -> Path:
        return self.studio.workspace.root

    def answer(self, tool: str, arguments: dict[str, Any]) -> Answer:
        answer = asyncio.run(self.tools.dispatch(tool, arguments))
        assert json.loads(answer.text) == answer.payload
        return answer

    def call(self, tool: str, **arguments: Any) -> Any:
        """The data of a call that must succeed."""
        answer = self.answer(tool, arguments)
        assert answer.payload is not None
        assert answer.payload["success"], answer.text
        return answer.payload["data"]

    def image(self, tool: str, **arguments: Any) -> ImageContent:
        """The picture that comes with the data."""
        (block,) = self.answer(tool, arguments).blocks
        assert isinstance(block, ImageContent)
        return block

    def refused(self, tool: str, **arguments: Any) -> Any:
        """The error of a call that must fail."""
        answer = self.answer(tool, arguments)
        assert answer.payload is not None
        assert (answer.is_error, answer.payload["success"], answer.payload["data"]) == (True, False, None), answer.text
        return answer.payload["error"]

    def code(self, tool: str, **arguments: Any) -> Any:
        return self.refused(tool, **arguments)["code"]
