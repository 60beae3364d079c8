"""Fields that many tools share, bounded so that nothing a caller sends is more than the database can hold."""

from typing import Annotated

from pydantic import AwareDatetime, Field

from handfast.toolkit import Args, Paging

Number = Annotated[int, Field(ge=1, le=2**63 - 1)]  # the id of a row; SQLite counts no further
Key = Annotated[str, Field(min_length=1, max_length=80, pattern=r"\S")]  # the id of an agent or an account
NewKey = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,39}$")]
Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"\S")]
Text = Annotated[str, Field(max_length=10_000)]
Cents = Annotated[int, Field(ge=1, le=10**12)]  # ten thousand million; a sum of many still fits a column
Moment = Annotated[AwareDatetime, Field(description="With its offset, such as 2026-03-01T09:00:00Z.")]


class Paged(Paging, Args):
    """Which part of a list is wanted."""


class ByNumber(Args):
    id: Number
    """The number that a list or a create tool gave."""


class ByKey(Args):
    id: Key
    """The id that a list gave."""
