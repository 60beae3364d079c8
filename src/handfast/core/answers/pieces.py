"""Narrowing a large result, and cutting it into pieces that join to the whole: between items, or as text."""

from collections.abc import Mapping, Sequence

from handfast.core.call.protocol_arguments import DEFAULT_PAGE_SIZE, ProtocolArguments


def narrow(items: Sequence[object], wishes: ProtocolArguments) -> tuple[list[object], int]:
    """The requested items with the requested keys, and the number of items that pass the filters, before paging."""
    found = list(items) if wishes.filters is None else [item for item in items if _meets(item, wishes.filters)]
    total = len(found)
    if wishes.page is not None or wishes.page_size is not None:
        size = wishes.page_size or DEFAULT_PAGE_SIZE
        start = ((wishes.page or 1) - 1) * size
        found = found[start : start + size]
    if wishes.filter_keys is not None:
        found = [_only(item, wishes.filter_keys) for item in found]
    return found, total


def _meets(item: object, filters: Mapping[str, object]) -> bool:
    if not isinstance(item, dict):
        return False
    return all(key in item and is_same(item[key], value) for key, value in filters.items())


def _only(item: object, keys: Sequence[str]) -> object:
    return {key: item[key] for key in item if key in keys} if isinstance(item, dict) else item


def is_same(one: object, other: object) -> bool:
    """Whether two JSON values are equal: 1 is 1.0, and neither is true."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same, one, other))
    return one == other


def cut_list(texts: Sequence[bytes], most: int) -> list[bytes]:
    """Splits items into JSON arrays, in order, none longer than `most` bytes unless a single item is."""
    pieces: list[bytes] = []
    held: list[bytes] = []
    size = 1  # two brackets, less the comma after the last item
    for text in texts:
        if held and size + len(text) + 1 > most:
            pieces.append(_array(held))
            held, size = [], 1
        held.append(text)
        size += len(text) + 1
    pieces.append(_array(held))
    return pieces


def _array(texts: Sequence[bytes]) -> bytes:
    return b"[%s]" % b",".join(texts)


def cut_text(text: bytes, most: int) -> list[bytes]:
    """Splits text into pieces of at most `most` bytes without splitting a character. `most` is at least 4."""
    pieces: list[bytes] = []
    start = 0
    while start < len(text):
        end = min(start + most, len(text))
        while end < len(text) and text[end] & 0xC0 == 0x80:
            end -= 1
        pieces.append(text[start:end])
        start = end
    return pieces
