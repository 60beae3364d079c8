"""The kinds of argument that several tools take."""

from typing import Annotated, TypeAlias

from pydantic import Field

from darkroom.refs import HEAD

MAX_TEXT = 2000  # characters: a remark, not an essay

# Ids and refs are bounded, not patterned: one that cannot exist is not_found, like any other that does not.
ImageId: TypeAlias = Annotated[
    str, Field(min_length=1, max_length=64, description="The picture, as `ingest` named it.")
]
Ref: TypeAlias = Annotated[
    str,
    Field(
        min_length=1,
        max_length=80,
        description=f"{HEAD}, a branch, a tag, or a hash (at least 7 characters); `~N` after it goes N snapshots back.",
    ),
]
RefName: TypeAlias = Annotated[
    str,
    Field(
        min_length=1, max_length=64, description="A word of letters, digits, '.', '_' and '-' that is not in use yet."
    ),
]
ModuleId: TypeAlias = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]
Text: TypeAlias = Annotated[str, Field(min_length=1, max_length=MAX_TEXT, pattern=r"\S")]
