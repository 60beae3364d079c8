"""Every id that a check of handfast can have, with its meaning."""

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

Level: TypeAlias = Literal["error", "warning", "info"]
_LEVELS: Final[dict[str, Level]] = {"E": "error", "W": "warning", "I": "info"}


class CheckId(StrEnum):
    """The ids of findings besides discovery's own problems, whose ids are `ProblemId`. The letter is the level."""

    SETTINGS_WRONG = "handfast.E010"
    REST_FRAMEWORK_MISSING = "handfast.E011"
    NOT_SERVABLE = "handfast.E012"
    REST_FRAMEWORK_NOT_INSTALLED = "handfast.W010"
    NOT_MOUNTED = "handfast.W011"
    LANGUAGE_PREFIX = "handfast.W012"
    STOPPED_BY_MIDDLEWARE = "handfast.W013"
    EMPTY_CALL_CREATES = "handfast.W020"
    FIELDS_DROPPED = "handfast.W021"
    NOTHING_WRITABLE = "handfast.W022"
    REQUIRED_UNREACHABLE = "handfast.W023"
    NESTED_WRITE_FAILS = "handfast.W024"
    OPEN_TO_ALL = "handfast.W030"
    PLAIN_HTTP = "handfast.W040"
    DEBUG_ON = "handfast.W041"
    ANY_HOST = "handfast.W042"


@dataclass(frozen=True, slots=True)
class CheckFinding:
    """One thing that would hurt an agent: what it is, what to do about it, and where."""

    id: str
    message: str
    hint: str
    where: str

    @property
    def level(self) -> Level:
        return level_of(self.id)


def level_of(check: str) -> Level:
    return _LEVELS[check.partition(".")[2][0]]


def in_order(findings: list[CheckFinding]) -> list[CheckFinding]:
    """Sorts findings without duplicates: errors first, then by id and place."""
    order = ("error", "warning", "info")
    return sorted(dict.fromkeys(findings), key=lambda one: (order.index(one.level), one.id, one.where, one.message))


# By id and not by member of an enum: discovery, which defines the other ids, is imported late.
MEANINGS: Final = MappingProxyType(
    {
        "handfast.E001": "Several tools would have one name, so none of them is a tool.",
        "handfast.E002": "A view cannot be made or asked without a caller, so it is not a tool.",
        "handfast.E003": "No path can be made from a url pattern, so what is behind it is not a tool.",
        "handfast.E004": "A standard write reads a body of which nothing is known, so it is not a tool.",
        "handfast.E010": "`settings.HANDFAST` has a key or a value that does not exist.",
        "handfast.E011": "Django REST framework cannot be imported.",
        "handfast.E012": "The tools cannot be served together, so every request would be answered with an error.",
        "handfast.W001": "A view does not say which serializer it uses without a caller.",
        "handfast.W002": "A serializer cannot be made, or cannot list its fields, without a caller.",
        "handfast.W003": "An action reads a body of which nothing is known; an agent can only call it without one.",
        "handfast.W004": "Nothing says what a field takes or holds.",
        "handfast.W005": "A serializer makes its output itself, so nothing is said about what comes out.",
        "handfast.W006": "Filters of a list cannot be described.",
        "handfast.W007": "Pages of a list cannot be described.",
        "handfast.W008": "A pattern of `INCLUDE` or `EXCLUDE` matches no tool.",
        "handfast.W010": "`rest_framework` is not in `INSTALLED_APPS`.",
        "handfast.W011": "No url leads to the MCP endpoint.",
        "handfast.W012": "The MCP endpoint is inside `i18n_patterns`, so its address depends on a language.",
        "handfast.W013": "A middleware refuses or redirects what an agent sends to the MCP endpoint.",
        "handfast.W020": "A call that names no field is taken, and makes an empty row.",
        "handfast.W021": "A field that the schema asks an agent to send is never read, so what it sends is lost.",
        "handfast.W022": "A write has no field to write.",
        "handfast.W023": "A column that has to be filled in cannot be, so rows are made without it or not at all.",
        "handfast.W024": "A nested field can be sent and not be stored: every call that sends it fails.",
        "handfast.W030": "Anybody may write, without any permission.",
        "handfast.W040": "With `--deploy`: tokens of agents may travel in the clear.",
        "handfast.W041": "With `--deploy`: `DEBUG` is on.",
        "handfast.W042": "With `--deploy`: any `Host` is accepted.",
        "handfast.I001": "A plain view or function is not a tool until its author says what it takes and sends.",
        "handfast.I002": "A view makes its answer itself, so an agent cannot know what comes back.",
        "handfast.I003": "A name was longer than MCP allows, and was cut.",
        "handfast.I004": "A name is longer than some models take.",
        "handfast.I005": "A serializer keeps its fields in the database, so they are known only once it may be asked.",
    }
)
