"""The URIs that an answer links: resource links and embedded resources in content, and what was read. Pure."""

from collections.abc import Iterator
from typing import Final

from handfast.wire.members import level_of, member, text_member
from handfast.wire.message import Members
from handfast.wire.scan import NotJson, scan_items

_MOST: Final = 1000  # URIs of one answer, and items of each array that are read for them


def linked_uris(result: Members) -> list[str]:
    """The URIs in the result of tools/call, prompts/get, resources/read, or of a task that ended."""
    found: list[str] = []
    for uri in _uris(result):
        found.append(uri)
        if len(found) == _MOST:
            break
    return found


def tool_uri(tool: Members) -> str | None:
    """The page that a tool's description links (`_meta.ui.resourceUri`), which lists of resources may leave out."""
    return text_member(level_of(member(level_of(member(tool, "_meta")), "ui")), "resourceUri")


def _uris(result: Members) -> Iterator[str]:
    for block in _objects(result, "content"):
        yield from _uris_of_block(block)
    for message in _objects(result, "messages"):
        yield from _uris_of_block(level_of(member(message, "content")))
    for read in _objects(result, "contents"):
        yield from _text(read, "uri")
    ended = level_of(member(result, "result"))  # a task's own result
    for block in _objects(ended, "content"):
        yield from _uris_of_block(block)


def _uris_of_block(block: Members) -> Iterator[str]:
    kind = text_member(block, "type")
    if kind == "resource_link":
        yield from _text(block, "uri")
    elif kind == "resource":
        yield from _text(level_of(member(block, "resource")), "uri")


def _text(members: Members, name: str) -> Iterator[str]:
    found = text_member(members, name)
    if found is not None:
        yield found


def _objects(members: Members, name: str) -> Iterator[Members]:
    text = member(members, name)
    if text is None or not text.startswith(b"["):
        return
    try:
        items, _ = scan_items(text, _MOST)
    except NotJson:
        return
    for item in items:
        yield level_of(item)
