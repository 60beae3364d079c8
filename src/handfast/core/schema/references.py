"""Resolves the references of one JSON Schema within its own text."""

from dataclasses import dataclass, field
from typing import Any

Node = dict[str, Any]  # Any: a subschema as its author wrote it

REFERENCE_KEYWORDS = ("$ref", "$dynamicRef", "$recursiveRef")
_ANCHOR_KEYWORDS = ("$anchor", "$dynamicAnchor")


class UnresolvedReference(ValueError):
    """A reference without a target within the schema."""


@dataclass(slots=True)
class References:
    """The possible targets of references in one schema, and counts of what is expensive to compile."""

    root: object
    root_id: str
    anchors: dict[str, list[Node]] = field(default_factory=dict)
    # Has resources with an $id of their own, or refers to some elsewhere, so targets may not be known here.
    is_compound: bool = False
    leads_outside: bool = False  # refers to another document, which is never fetched
    objects: int = 0  # no fewer than the subschemas
    count: int = 0
    unevaluated: int = 0
    judges_names: bool = False
    quotes_itself: bool = False  # an error may carry a copy of a large part of the schema
    patterns: list[str] = field(default_factory=list)

    def notice(self, node: Node) -> None:
        self.objects += 1
        self.is_compound = self.is_compound or (node is not self.root and isinstance(node.get("$id"), str))
        self.unevaluated += "unevaluatedProperties" in node or "unevaluatedItems" in node
        self.judges_names = self.judges_names or "propertyNames" in node
        self.quotes_itself = self.quotes_itself or _is_quoted(node)
        for keyword in REFERENCE_KEYWORDS:
            if isinstance(reference := node.get(keyword), str):
                self.count += 1
                self._follow(reference.partition("#")[0])
        for keyword in _ANCHOR_KEYWORDS:
            if isinstance(name := node.get(keyword), str):
                self.anchors.setdefault(name, []).append(node)
        if isinstance(pattern := node.get("pattern"), str):
            self.patterns.append(pattern)
        if isinstance(patterns := node.get("patternProperties"), dict):
            self.patterns.extend(patterns)

    def _follow(self, base: str) -> None:
        if not base or base == self.root_id:
            return
        is_bundled = "//json-schema.org/" in base
        self.leads_outside = self.leads_outside or not is_bundled
        # It refers to a bundled meta-schema, or to a URI that has to be resolved against a base.
        self.is_compound = self.is_compound or is_bundled or bool(self.root_id)

    def targets(self, reference: str) -> list[Node]:
        """Every subschema that the reference may mean; a boolean one costs nothing and is left out.

        Raises: UnresolvedReference.
        """
        base, _, fragment = reference.partition("#")
        if base and base != self.root_id:
            raise UnresolvedReference
        if fragment in self.anchors:
            # Two anchors of one name are an error; both are weighed.
            return self.anchors[fragment]
        found = self.root if not fragment else _at_pointer(self.root, fragment)
        return [found] if isinstance(found, dict) else []


def read_references(schema: object, *, limit: int = 10_000) -> References:
    """Collects the possible targets of references in a schema, and what makes it expensive to compile.

    Keys that only look like keywords, such as in an example, count too: the estimate errs on the high side.
    """
    found = References(schema, _root_id(schema))
    pending: list[object] = [schema]
    seen = 0
    while pending and found.objects <= limit:
        node = pending.pop()
        seen += 1
        if seen > 2 * limit:
            found.is_compound = True  # very long arrays: the rest stays unread
            break
        if isinstance(node, dict):
            found.notice(node)
        children = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
        pending.extend([child for child in children if isinstance(child, dict | list)])
    return found


def _is_quoted(node: Node) -> bool:
    options = node.get("enum")
    # A schema with a longer list is too heavy to run in place anyway.
    options = options[:5_000] if isinstance(options, list) else []
    if "const" in node:
        options = [*options, node["const"]]
    return "not" in node or any(
        isinstance(option, dict | list) or (isinstance(option, str) and len(option) > 100) for option in options
    )


def _root_id(schema: object) -> str:
    declared = schema.get("$id", schema.get("id")) if isinstance(schema, dict) else None
    return declared.partition("#")[0] if isinstance(declared, str) else ""


def _at_pointer(node: object, fragment: str) -> object:
    if not fragment.startswith("/"):
        raise UnresolvedReference
    for token in _unquote(fragment).split("/")[1:]:
        key = token.replace("~1", "/").replace("~0", "~")
        if isinstance(node, dict) and key in node:
            node = node[key]
        elif isinstance(node, list) and key.isdecimal() and len(key) < 9 and int(key) < len(node):
            node = node[int(key)]
        else:
            raise UnresolvedReference
    return node


def _unquote(fragment: str) -> str:
    if "%" not in fragment:
        return fragment
    from urllib.parse import unquote  # rarely needed, so not imported at start-up

    return unquote(fragment)
