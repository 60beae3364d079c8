"""Long lists in pages: the paging arguments, the form of a page, and cutting one."""

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from handfast.toolkit.writing.argument_checks import DEFAULT_LIMIT, MOST_LIMIT, coerce_pagination
from handfast.toolkit.writing.call import Args

T = TypeVar("T")

# 2.0 in JSON is accepted too, but neither "2" nor true.
Offset = Annotated[int, Field(ge=0, strict=True)]
Limit = Annotated[int, Field(ge=1, le=MOST_LIMIT, strict=True)]


class PaginationMeta(BaseModel):
    """Which part of how many."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    total: Offset
    offset: Offset
    limit: Limit


class Paging(Args):
    """The two arguments of a tool that answers in pages: derive its args model from this."""

    offset: Offset = Field(default=0, description="How many items to skip.")
    limit: Limit = Field(default=DEFAULT_LIMIT, description="How many items to return at most.")


class Page(BaseModel, Generic[T]):
    """One page of a tool's result, with what is needed to ask for the next."""

    model_config = ConfigDict(extra="forbid")

    items: list[T]
    total: Offset
    offset: Offset
    limit: Limit

    @classmethod
    def of(cls, items: Sequence[T], total: int, paging: Paging) -> "Page[T]":
        """The page from a service that cut it: its items, and the total number."""
        return cls(items=list(items[: paging.limit]), total=total, offset=paging.offset, limit=paging.limit)


def paginate_sequence(
    items: Sequence[T], *, offset: int, limit: int, total: int | None = None
) -> tuple[list[T], PaginationMeta]:
    """Cuts a page out of all items; with `total` the items are the page already, as services return them.

    Raises:
        ArgumentValidationError: the offset or limit is out of range.
    """
    offset, limit = coerce_pagination({"offset": offset, "limit": limit})
    page = items[offset : offset + limit] if total is None else items[:limit]
    meta = PaginationMeta(total=len(items) if total is None else total, offset=offset, limit=limit)
    return list(page), meta


def dump_many(models: Iterable[BaseModel]) -> list[dict[str, Any]]:  # Any: JSON values
    """Each model as plain JSON values."""
    return [model.model_dump(mode="json") for model in models]
