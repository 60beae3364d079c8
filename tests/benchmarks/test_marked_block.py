"""Figures go between the marks of a page, and nowhere else."""

from pathlib import Path

import pytest
from benchmarks.marked_block import BlockMissing, write_block

MARKS = ("<!-- begin -->", "<!-- end -->")


def test_what_stands_between_the_marks_is_replaced_and_the_rest_is_kept(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# é\n<!-- begin -->\nold\nold\n<!-- end -->\nafter", "utf-8")
    write_block(page, "| new |", MARKS)
    assert page.read_text("utf-8") == "# é\n<!-- begin -->\n| new |\n<!-- end -->\nafter"


@pytest.mark.parametrize("text", ["nothing here", "<!-- begin -->", "<!-- end --> <!-- begin -->"])
def test_a_page_without_marks_is_left_alone(text: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises(BlockMissing, match=r"page\.md lacks <!-- begin --> and <!-- end -->"):
        write_block(page, "figures", MARKS)
    assert page.read_text() == text
