"""Entities by description: from a few lines come a table, its rules and ten tools."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

Value = str | int | bool | datetime | None
Row = dict[str, Value]


class Operation(StrEnum):
    """What can be done with every entity."""

    LIST = "list"
    GET = "get"
    SEARCH = "search"
    COUNT = "count"
    HISTORY = "history"
    CREATE = "create"
    UPDATE = "update"
    ARCHIVE = "archive"
    RESTORE = "restore"
    PURGE = "purge"


class Kind(StrEnum):
    TEXT = "text"
    CHOICE = "choice"
    WHOLE = "whole"
    FLAG = "flag"
    MOMENT = "moment"
    REFERENCE = "reference"


@dataclass(frozen=True, slots=True)
class Field:
    """One field of an entity. A default of None means that it must be given, except for references."""

    name: str
    kind: Kind
    description: str
    default: Value = None
    choices: tuple[str, ...] = ()
    minimum: int = 0
    maximum: int = 1_000_000
    refers_to: str = ""  # the table of another entity


@dataclass(frozen=True, slots=True)
class Entity:
    """One kind of thing; every one of them has a name that is used once."""

    domain: str
    plural: str
    singular: str
    description: str
    fields: tuple[Field, ...]

    @property
    def table(self) -> str:
        return f"{self.domain}_{self.plural}"

    @property
    def columns(self) -> tuple[str, ...]:
        return ("name", *(field.name for field in self.fields))


@dataclass(frozen=True, slots=True)
class EntityEvent:
    """One thing that happened to one row; it is kept when the row is gone."""

    at: datetime
    by: str
    what: Operation
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EntityCount:
    current: int
    archived: int


def text(name: str, description: str, *, default: str | None = "") -> Field:
    return Field(name, Kind.TEXT, description, default)


def choice(name: str, description: str, *choices: str) -> Field:
    """The first choice is the default."""
    return Field(name, Kind.CHOICE, description, choices[0], choices)


def whole(name: str, description: str, *, default: int = 0, minimum: int = 0, maximum: int = 1_000_000) -> Field:
    return Field(name, Kind.WHOLE, description, default, minimum=minimum, maximum=maximum)


def flag(name: str, description: str, *, default: bool = False) -> Field:
    return Field(name, Kind.FLAG, description, default)


def moment(name: str, description: str) -> Field:
    return Field(name, Kind.MOMENT, description)


def reference(name: str, description: str, *, to: str) -> Field:
    return Field(name, Kind.REFERENCE, description, refers_to=to)
