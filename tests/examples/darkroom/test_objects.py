"""The object store: what goes in comes out, under the hash of its bytes, or not at all."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from darkroom.canonical import canonical, sha256_hex
from darkroom.objects import ObjectStore
from darkroom.refusal import Refused

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)
DOCUMENTS = st.dictionaries(st.text(), JSON)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> ObjectStore:
    return ObjectStore(tmp_path_factory.mktemp("objects"))


@given(document=DOCUMENTS)
def test_a_document_comes_back_as_it_was(store: ObjectStore, document: dict[str, object]) -> None:
    name = store.put(document)
    assert (name, store.get(name)) == (sha256_hex(canonical(document)), document)


@given(document=DOCUMENTS)
def test_the_order_of_keys_does_not_change_the_hash(store: ObjectStore, document: dict[str, object]) -> None:
    assert store.put(dict(reversed(document.items()))) == store.put(document)


def test_a_file_is_stored_under_the_hash_of_its_bytes(store: ObjectStore, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"\x00\xff" * 100_000)
    name = store.put_file(tmp_path / "file")
    assert name == sha256_hex(b"\x00\xff" * 100_000)
    assert store.require_file(name).read_bytes() == b"\x00\xff" * 100_000
    assert store.put_file(tmp_path / "file") == name


def test_a_missing_object_is_a_fault_of_the_history(store: ObjectStore) -> None:
    for read in (store.get, store.require_file):
        with pytest.raises(Refused) as refused:
            read("0" * 64)
        assert (refused.value.code, refused.value.details) == ("versioning_error", {"object": "0" * 64})


def test_an_object_that_was_changed_on_disk_is_not_believed(store: ObjectStore) -> None:
    name = store.put({"label": "before"})
    store.path(name).write_bytes(canonical({"label": "after"}))
    for read in (store.get, store.require_file):
        with pytest.raises(Refused) as refused:
            read(name)
        assert (refused.value.code, refused.value.details) == ("versioning_error", {"object": name})


def test_a_prefix_finds_the_names_that_begin_with_it(store: ObjectStore) -> None:
    name = store.put({"a": 1})
    assert name in store.names_starting_with(name[:7])
    assert store.names_starting_with(name) == [name]
    assert store.names_starting_with(name[:6]) == []
