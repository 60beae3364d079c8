"""Opening a store by its kind: to write in, or only to read from."""

from contextlib import closing
from pathlib import Path

import pytest

from handfast.activity.chain import Head
from handfast.activity.store import StoreError, StoreMissing, open_store


def test_a_store_is_made_to_write_in_and_then_there_to_read(tmp_path: Path) -> None:
    with closing(open_store(tmp_path / "state")), closing(open_store(tmp_path / "state", read_only=True)) as store:
        assert store.head() == Head()


def test_reading_makes_no_store(tmp_path: Path) -> None:
    with pytest.raises(StoreMissing) as missing:
        open_store(tmp_path, read_only=True)
    assert (missing.value.empty_file, list(tmp_path.iterdir())) == (None, [])


def test_an_empty_file_in_place_of_a_store_is_told_from_nothing(tmp_path: Path) -> None:
    (tmp_path / "activity.db").touch(0o600)
    with pytest.raises(StoreMissing) as missing:
        open_store(tmp_path, read_only=True)
    assert missing.value.empty_file == tmp_path / "activity.db"


def test_a_store_of_another_kind_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match='can only be "sqlite"'):
        open_store(tmp_path, "postgresql://db/x")
    assert list(tmp_path.iterdir()) == []
