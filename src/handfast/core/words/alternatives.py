"""What the alternatives of a schema ask for, in words: their options, the tag that tells them apart, each in brief."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from handfast.core.words import wording
from handfast.core.words.schema_parts import SchemaParts
from handfast.core.words.wording import MOST_HINTED

_MOST_BRIEF = 3  # alternatives that are put in words
_MOST_FIELDS = 4  # of one of them that are named
_MOST_CHARACTERS = 300  # of all of them

Branch = Mapping[str, Any]  # Any: JSON Schema


@dataclass(frozen=True, slots=True)
class Tag:
    """The member that tells alternatives apart, as `kind` does in `{"kind": "cat", …}` and `{"kind": "dog", …}`."""

    name: str
    options: tuple[object, ...]
    is_required: bool  # by each of them
    is_missing: bool = False  # in a value

    @property
    def text(self) -> str:
        """What is said of it where it is missing or wrong."""
        if self.is_missing:
            return wording.missing(self.name, wording.one_of(self.options, MOST_HINTED).removeprefix("must be "))
        return wording.one_of(self.options)


def options_of(branches: Sequence[Branch]) -> list[object]:
    """The values that are allowed, if each alternative is one or some of them; else none."""
    found = [_values(branch) for branch in branches]
    return [option for options in found for option in options] if all(found) else []


def tag_of(branches: Sequence[Branch]) -> Tag | None:
    """The first member that has one value in each alternative that is an object, and another one in each."""
    objects = [branch for branch in branches if isinstance(branch.get("properties"), dict)]
    if len(objects) < 2:
        return None
    for name in objects[0]["properties"]:
        found = [_values(branch["properties"].get(name)) for branch in objects]
        options = tuple(values[0] for values in found if len(values) == 1)
        if len(options) == len(objects) and len({wording.shown(option) for option in options}) == len(options):
            return Tag(name, options, all(name in _required(branch) for branch in objects))
    return None


def wrong_tag(branches: Sequence[Branch], value: object) -> Tag | None:
    """The tag that the alternatives are told apart by, if the value lacks it or has it with no option's value."""
    tag = tag_of(branches) if isinstance(value, dict) else None
    if tag is None or not isinstance(value, dict):
        return None
    if tag.name not in value:
        return replace(tag, is_missing=True) if tag.is_required else None
    return None if value[tag.name] in tag.options else tag


def brief(branches: Sequence[Branch], parts: SchemaParts) -> str:
    """The first alternatives in a few words each; nothing where one of them cannot be said."""
    told = [_brief(branch, parts) for branch in branches[:_MOST_BRIEF]]
    if not all(told):
        return ""
    text = ", or ".join(dict.fromkeys(told))
    if len(text) > _MOST_CHARACTERS:
        return ""
    return text + (", ..." if len(branches) > _MOST_BRIEF else "")


def lacking(missing: Sequence[Sequence[str]], kinds: Mapping[str, str]) -> str:
    """The text for alternatives that lack only names, such as `must have the property 'id' or 'name'`."""
    shown = list(dict.fromkeys(_joined(names, kinds) for names in missing))
    text = " or ".join(shown[:_MOST_BRIEF]) + (" or ..." if len(shown) > _MOST_BRIEF else "")
    is_one_each = all(len(names) == 1 for names in missing)
    return f"must have the {'property' if is_one_each else 'properties'} {text}"


def _joined(names: Sequence[str], kinds: Mapping[str, str]) -> str:
    shown = [f"'{wording.scrubbed_name(name)}'" + _in_brackets(kinds.get(name, "")) for name in names[:_MOST_FIELDS]]
    return " and ".join([*shown, "..."] if len(names) > _MOST_FIELDS else shown)


def _in_brackets(kind: str) -> str:
    return f" ({kind})" if kind else ""


def _brief(branch: Branch, parts: SchemaParts) -> str:
    properties = branch.get("properties")
    if not isinstance(properties, dict):
        return parts.kind(branch) or wording.kind_of(branch)
    needed = [name for name in _required(branch) if isinstance(name, str)]
    kinds = {name: parts.kind(properties.get(name)) for name in needed[:_MOST_FIELDS]}
    return f"an object with {_joined(needed, kinds)}" if needed else ""


def _values(schema: object) -> list[object]:
    if not isinstance(schema, Mapping):
        return []
    if "const" in schema:
        return [schema["const"]]
    options = schema.get("enum")
    return list(options) if isinstance(options, list) else []


def _required(branch: Branch) -> Iterable[object]:
    required = branch.get("required")
    return required if isinstance(required, list) else ()
