"""Ids are unique and sort by the moment they were made."""

from concurrent.futures import ThreadPoolExecutor

from handfast.activity.identity import IdSource


def test_later_ids_are_greater() -> None:
    source = IdSource()
    ids = [source.next() for _ in range(1_000)]
    assert ids == sorted(set(ids))


def test_threads_never_get_the_same_id() -> None:
    source = IdSource()
    with ThreadPoolExecutor(4) as pool:
        batches = list(pool.map(lambda _: [source.next() for _ in range(500)], range(4)))
    ids = [one[:16] for batch in batches for one in batch]
    assert len(set(ids)) == 2_000
