"""Only a file is read as one."""

import os
from pathlib import Path

import pytest

from handfast.regular_file import read_regular


def test_a_file_is_read_whole_also_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"content")
    (tmp_path / "link").symlink_to("file")
    assert read_regular(tmp_path / "link") == b"content"


@pytest.mark.requirement("F10")
def test_a_pipe_and_a_device_are_no_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to("/dev/zero")
    for path in (tmp_path / "pipe", tmp_path / "device"):
        with pytest.raises(OSError, match="it is not a regular file"):
            read_regular(path)


@pytest.mark.requirement("F10")
def test_a_file_above_the_bound_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * (1024**2 + 1))
    with pytest.raises(OSError, match="it is larger than 1 MiB"):
        read_regular(tmp_path / "file", 1024**2)
