"""Objects of an input schema that do not say whether they take undeclared keys."""

from collections.abc import Iterator

from handfast.core.schema.costs import mapping
from handfast.core.schema.references import Node, References, UnresolvedReference, read_references
from handfast.lint.tools.schema_positions import positions

_SAYS = ("additionalProperties", "unevaluatedProperties")
_OPTIONS = ("anyOf", "oneOf")
_ONE_BELOW = ("items", "additionalItems", "unevaluatedItems", "contains", *_SAYS)
_MAPS_BELOW = ("properties", "patternProperties")

_NESTED = "This object does not say whether it takes undeclared keys."
_ROOT = "The input does not say whether it takes undeclared arguments."


def find_open_objects(content: object) -> Iterator[tuple[str, str, str]]:
    """Each of them once, where it is written, however often it is used: the finding's id, its path, a sentence."""
    if not isinstance(content, dict):
        return
    paths = {id(position.schema): position.path for position in positions(content)}
    for node, is_root in _Walk(content).open_objects():
        yield ("tool-open-root", "", _ROOT) if is_root else ("tool-open-object", paths.get(id(node), ""), _NESTED)


class _Walk:
    def __init__(self, root: Node) -> None:
        self.root = root
        self.references: References = read_references(root)

    def open_objects(self) -> Iterator[tuple[Node, bool]]:
        """From the root down, through whatever applies in place; and whether it is the root itself."""
        pending: list[tuple[Node, bool]] = [(self.root, False)]  # and whether a schema around it has said so
        seen: set[tuple[int, bool]] = set()
        found: set[int] = set()
        while pending:
            node, is_said = pending.pop()
            if (id(node), is_said) in seen:
                continue
            seen.add((id(node), is_said))
            together = self.together(node)
            is_said = is_said or any(keyword in part for part in together for keyword in _SAYS)
            written = next(filter(_is_object, together), None)
            if written is not None and not is_said:
                is_said = True  # an option of an object that was reported is part of it, not another one
                if id(written) not in found:
                    found.add(id(written))
                    yield written, node is self.root
            pending += [(child, False) for part in reversed(together) for child in reversed(list(_below(part)))]
            pending += [(option, is_said) for part in reversed(together) for option in reversed(_options(part))]

    def together(self, node: Node) -> list[Node]:
        """The node, what it refers to, and everything under its allOf: all of it holds for the same value."""
        found: dict[int, Node] = {}
        pending = [node]
        while pending:
            part = pending.pop()
            if id(part) in found:
                continue
            found[id(part)] = part
            pending += self.referred(part)
            pending += _nodes(part.get("allOf"))
        return list(found.values())

    def referred(self, node: Node) -> list[Node]:
        reference = node.get("$ref")
        try:
            return self.references.targets(reference) if isinstance(reference, str) else []
        except UnresolvedReference:
            return []


def _is_object(node: Node) -> bool:
    declared = node.get("type")
    names = declared if isinstance(declared, list) else [declared]
    return "object" in names or (declared is None and "properties" in node)


def _options(node: Node) -> list[Node]:
    return [option for keyword in _OPTIONS for option in _nodes(node.get(keyword))]


def _below(node: Node) -> Iterator[Node]:
    for keyword in _MAPS_BELOW:
        yield from _nodes(list(mapping(node, keyword).values()))
    for keyword in _ONE_BELOW:
        yield from _nodes([node.get(keyword)])
    for keyword in ("prefixItems", "items"):
        yield from _nodes(node.get(keyword))


def _nodes(parts: object) -> list[Node]:
    return [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
