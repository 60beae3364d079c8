"""Undeclared arguments at any depth: found with a tree of declared names that is built once for a schema."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from handfast.core.call import rules
from handfast.core.call.arguments import unknown_message
from handfast.core.call.policy import InputPolicy, UnknownArguments, Violation
from handfast.core.call.wrappers import find_nested_wrappers, nested_wrapper_message
from handfast.core.schema.costs import mapping
from handfast.core.schema.declared import Declared
from handfast.core.schema.references import Node
from handfast.core.words.redaction import scrub_name, scrub_names

_IN_PLACE: Final = ("allOf", "anyOf", "oneOf")
_BRANCHES: Final = ("if", "then", "else")


@dataclass(slots=True)
class NameTree:
    """The keys that an object may have at one place, with the tree of each value; `items` is the tree of list items.

    Not frozen, because a schema may refer to itself.
    """

    names: dict[str, "NameTree"] = field(default_factory=dict)
    items: "NameTree | None" = None
    is_open: bool = True  # the schema does not restrict keys here, or allows any

    @property
    def declared(self) -> Declared:
        inside = {name: frozenset(inner.names) for name, inner in self.names.items() if inner.names}
        names, objects = tuple(self.names), tuple(inside)
        return Declared(names, declares_nothing_said=False, is_open_to_all=False, objects=objects, inside=inside)


@dataclass(frozen=True, slots=True)
class Undeclared:
    """One undeclared key. `path` is the path of its object, such as `objects[0]`; empty for the root."""

    path: str
    key: str
    value: object
    place: NameTree
    beside: Mapping[str, object]  # the object that it is in

    @property
    def name(self) -> str:
        return f"{self.path}.{scrub_name(self.key)}" if self.path else scrub_name(self.key)


def read_tree(schema: Node) -> NameTree:
    """Reads every name that the schema declares, through local references and keywords that apply in place."""
    return _NameTreeReader(schema).tree(schema)


class _NameTreeReader:
    def __init__(self, root: Node) -> None:
        self._definitions = {
            f"#/{key}/{name}": part for key in ("$defs", "definitions") for name, part in mapping(root, key).items()
        }
        self._known: dict[int, NameTree] = {}

    def tree(self, schema: object) -> NameTree:
        if not isinstance(schema, dict):
            return NameTree()
        if id(schema) not in self._known:
            tree = self._known[id(schema)] = NameTree()
            said = list(self._said(schema, set()))
            for part in said:
                for name, inner in mapping(part, "properties").items():
                    tree.names.setdefault(name, self.tree(inner))
                if tree.items is None and isinstance(part.get("items"), dict):
                    tree.items = self.tree(part["items"])
            tree.is_open = any(map(_welcomes_any, said)) or not any("properties" in part for part in said)
        return self._known[id(schema)]

    def _said(self, schema: Node, seen: set[int]) -> Iterator[Node]:
        """The schema and all subschemas that apply to the same value."""
        if id(schema) not in seen:
            seen.add(id(schema))
            yield schema
            for part in self._parts(schema):
                yield from self._said(part, seen)

    def _parts(self, schema: Node) -> Iterator[Node]:
        target = self._definitions.get(str(schema.get("$ref", "")))
        listed = [part for key in _IN_PLACE if isinstance(parts := schema.get(key), list) for part in parts]
        for part in (target, *listed, *(schema.get(key) for key in _BRANCHES)):
            if isinstance(part, dict):
                yield part


def _welcomes_any(part: Node) -> bool:
    if part.get("additionalProperties", False) is not False or "patternProperties" in part:
        return True
    # An alternative that allows any object: `properties` of other alternatives do not restrict it.
    return part.get("type") == "object" and not part.keys() & {"properties", "$ref", *_IN_PLACE}


def find_undeclared(value: object, tree: NameTree, path: str = "") -> Iterator[Undeclared]:
    """The undeclared keys, in the order of the call. Does not look inside an undeclared value."""
    if isinstance(value, dict):
        for key, inner in value.items():
            known = tree.names.get(key)
            if known is not None:
                yield from find_undeclared(inner, known, f"{path}.{scrub_name(key)}" if path else scrub_name(key))
            elif not tree.is_open:
                yield Undeclared(path, key, inner, tree, value)
    elif isinstance(value, list) and tree.items is not None:
        for place, inner in enumerate(value):
            yield from find_undeclared(inner, tree.items, f"{path}[{place}]")


def check_inside(found: list[Undeclared], policy: InputPolicy) -> Violation | None:
    """Applies the rules of the root below it; returns the violation of the first object that breaks one."""
    by_path: dict[str, list[Undeclared]] = {}
    for one in found:
        if one.path:
            by_path.setdefault(one.path, []).append(one)
    for those in by_path.values():
        violation = _check_place(those[0].place, those, policy)
        if violation is not None:
            return violation
    return None


def _check_place(place: NameTree, found: list[Undeclared], policy: InputPolicy) -> Violation | None:
    # Names are shown with their path, so that an agent finds them; the listed fields are those of that place.
    sent = {one.name: one.value for one in found if one.key not in policy.ignore}
    if find_nested_wrappers(sent, place.declared, frozenset()):
        wrapped = nested_wrapper_message(sent, place.declared, sent=found[0].beside.keys())
        return Violation(rules.ARGUMENTS_NESTED_WRAPPER, str(wrapped))
    if policy.unknown_arguments is UnknownArguments.REJECT_ALL and sent:
        return Violation(rules.ARGUMENTS_UNKNOWN, unknown_message(list(sent), place.declared))
    return None


def ignored_notice(found: list[Undeclared]) -> str:
    """The notice in an answer about arguments that were ignored."""
    return f"Ignored arguments: {', '.join(scrub_names(one.name for one in found))}"
