"""Notice: a text block after the payload's own, for what the agent should know beside the result."""

from typing import Literal

from pydantic import BaseModel


class Notice(BaseModel):
    """As `text` content goes over the wire. Not the SDK's type: tools are dispatched without it, too."""

    type: Literal["text"] = "text"
    text: str
