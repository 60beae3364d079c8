"""The base of everything that tools answer with: what is declared, and not a key more."""

from typing import Annotated, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

Sha256: TypeAlias = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Count: TypeAlias = Annotated[int, Field(ge=0)]
Mean: TypeAlias = Annotated[float, Field(ge=0, le=1)]


class Told(BaseModel):
    """A part of an answer."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)
