"""The part of a page between two marks: figures are put there, and every other byte is left alone."""

from pathlib import Path


class BlockMissing(Exception):
    """A page that has no place for figures; one line that says what to do."""


def read_block(page: Path, marks: tuple[str, str]) -> list[str]:
    """The lines between the marks; none where there is no such place."""
    return page.read_text("utf-8").partition(marks[0])[2].partition(marks[1])[0].strip().splitlines()


def with_block(text: str, markdown: str, marks: tuple[str, str], *, name: str = "The page") -> str:
    """Raises: BlockMissing."""
    before, begin, rest = text.partition(marks[0])
    _, end, after = rest.partition(marks[1])
    if not begin or not end:
        raise BlockMissing(f"{name} lacks {marks[0]} and {marks[1]}; put them where the figures belong.")
    return f"{before}{begin}\n{markdown}\n{end}{after}"


def write_block(page: Path, markdown: str, marks: tuple[str, str]) -> None:
    """Raises: BlockMissing."""
    page.write_text(with_block(page.read_text("utf-8"), markdown, marks, name=page.name), "utf-8")
