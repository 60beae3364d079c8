"""The history of a picture: snapshots, branches, tags, the head, and what happens when one of them is broken."""

import asyncio
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from darkroom.edits import apply_primitive, take_snapshot
from darkroom.history import History
from darkroom.refs import Head
from darkroom.refusal import Refused
from darkroom.stack import Stack
from darkroom.studio import Studio, ingest, open_studio


def brighten(history: History, ev: float = 1.0) -> str:
    apply_primitive(history, "exposure", {"ev": ev}, module_id=None, enabled=True)
    return history.require_head()


def test_the_baseline_is_tagged_and_on_main(chart: History) -> None:
    head = chart.head()
    assert head.branch == "main"
    assert head.snapshot is not None
    assert chart.refs.names_of(head.snapshot) == ("main", "baseline")
    assert chart.stack(head.snapshot).modules == ()


def test_each_snapshot_names_the_one_before(chart: History) -> None:
    baseline = chart.require_head()
    first, second = brighten(chart, 1.0), brighten(chart, 2.0)
    assert [(snapshot.hash, snapshot.parent) for snapshot in chart.ancestry(second)] == [
        (second, first),
        (first, baseline),
        (baseline, None),
    ]


def test_every_way_to_name_a_snapshot(chart: History) -> None:
    baseline = chart.require_head()
    bright = brighten(chart)
    chart.refs.create_branch("warm", baseline)
    chart.refs.create_tag("v1.0", bright)
    named = {
        "HEAD": bright,
        "main": bright,
        "v1.0": bright,
        "warm": baseline,
        "baseline": baseline,
        "HEAD~1": baseline,
        "v1.0~0": bright,
        bright: bright,
        bright[:7]: bright,
        f"{bright[:9]}~1": baseline,
    }
    assert {ref: chart.resolve(ref) for ref in named} == named


@pytest.mark.requirement("002-14")
@pytest.mark.parametrize(
    "ref", ["nowhere", "HEAD~2", "HEAD~", "", "0" * 64, "abc", "../HEAD", "main/..", "HEAD~99999", "ä", "main\n"]
)
def test_a_ref_that_does_not_exist_is_not_found(chart: History, ref: str) -> None:
    brighten(chart)
    with pytest.raises(Refused) as refused:
        chart.resolve(ref)
    assert refused.value.code == "not_found"


def test_a_snapshot_of_another_picture_is_not_found(studio: Studio, chart: History) -> None:
    other = asyncio.run(ingest(studio, "lamp.jpg", image_id=None, baseline=True))[1]
    with pytest.raises(Refused) as refused:
        chart.resolve(other.require_head())
    assert refused.value.code == "not_found"


def test_a_stored_file_is_no_snapshot(studio: Studio, chart: History) -> None:
    for ref in (studio.workspace.require_picture("chart").sha256, chart.read(chart.require_head()).stack):
        with pytest.raises(Refused) as refused:
            chart.resolve(ref)
        assert refused.value.code == "not_found"


def test_checking_out_a_branch_goes_on_there_and_anything_else_only_looks(chart: History) -> None:
    baseline = chart.require_head()
    bright = brighten(chart)
    assert chart.checkout("baseline") == Head(None, baseline)
    assert chart.checkout("HEAD") == Head(None, baseline)
    assert chart.checkout(bright) == Head(None, bright)
    assert chart.checkout("main~1") == Head(None, baseline)
    assert chart.checkout("main") == Head("main", bright)


@pytest.mark.requirement("002-14")
def test_a_snapshot_on_a_detached_head_is_a_versioning_error(chart: History) -> None:
    chart.checkout("baseline")
    before = chart.refs.names_of(chart.require_head())
    for change in (lambda: take_snapshot(chart, "lost"), lambda: brighten(chart)):
        with pytest.raises(Refused) as refused:
            change()
        assert (refused.value.code, refused.value.details) == ("versioning_error", {"reason": "detached_head"})
    assert chart.refs.names_of(chart.require_head()) == before


@pytest.mark.requirement("002-14")
@pytest.mark.parametrize("name", ["main", "baseline"])
def test_a_ref_that_exists_is_a_versioning_error(chart: History, name: str) -> None:
    for create in (chart.refs.create_branch, chart.refs.create_tag):
        with pytest.raises(Refused) as refused:
            create(name, chart.require_head())
        assert (refused.value.code, refused.value.details) == ("versioning_error", {"reason": "ref_exists"})


@pytest.mark.parametrize("name", ["HEAD", "deadbeef", "", ".hidden", "a/b", "a b", "-x", "x" * 65, "ä", "new\n"])
def test_a_name_that_could_mean_something_else_is_refused(chart: History, name: str) -> None:
    with pytest.raises(Refused) as refused:
        chart.refs.create_tag(name, chart.require_head())
    assert refused.value.code == "invalid_input"


@pytest.mark.requirement("002-14")
@pytest.mark.parametrize("broken", ["snapshot", "parent", "stack"])
def test_history_that_points_at_a_missing_object_is_a_versioning_error(
    studio: Studio, chart: History, broken: str
) -> None:
    baseline = chart.require_head()
    bright = brighten(chart)
    lost = {"snapshot": bright, "parent": baseline, "stack": chart.read(bright).stack}[broken]
    studio.workspace.objects.path(lost).unlink()
    with pytest.raises(Refused) as refused:
        [chart.stack(snapshot.hash) for snapshot in chart.ancestry(chart.resolve("HEAD"))]
    assert (refused.value.code, refused.value.details) == ("versioning_error", {"object": lost})


@pytest.mark.requirement("002-14")
def test_without_a_snapshot_there_is_no_head_to_name(studio: Studio) -> None:
    history = asyncio.run(ingest(studio, "chart.png", image_id=None, baseline=False))[1]
    assert history.head() == Head("main", None)
    for ask in (partial(history.resolve, "HEAD"), history.require_baseline):
        with pytest.raises(Refused) as refused:
            ask()
        assert refused.value.code == "state_error"
    with pytest.raises(Refused) as refused:
        history.resolve("baseline")
    assert refused.value.code == "not_found"


@pytest.mark.requirement("002-10")
@pytest.mark.requirement("002-14")
@pytest.mark.parametrize("lost", ["HEAD", "refs/branches/main"])
def test_a_lost_head_is_a_versioning_error_and_never_a_picture_without_snapshots(
    studio: Studio, chart: History, lost: str
) -> None:
    (studio.workspace.folder("chart") / lost).unlink()
    for ask in (chart.head, chart.current_stack, partial(take_snapshot, chart, "a second beginning")):
        with pytest.raises(Refused) as refused:
            ask()
        assert (refused.value.code, refused.value.details) == ("versioning_error", {"reason": "lost_head"})


def test_the_first_snapshot_becomes_the_baseline(studio: Studio) -> None:
    history = asyncio.run(ingest(studio, "chart.png", image_id=None, baseline=False))[1]
    first = take_snapshot(history, "as it came")
    assert (history.require_baseline(), first.parent) == (first.hash, None)
    assert take_snapshot(history, "again").parent == first.hash
    assert history.require_baseline() == first.hash


def test_the_same_edits_have_the_same_hashes_wherever_they_are_made(tmp_path: Path, samples: Path) -> None:
    def hashes(root: Path) -> list[str]:
        studio = open_studio(root)
        (studio.workspace.inbox / "chart.png").write_bytes((samples / "chart.png").read_bytes())
        history = asyncio.run(ingest(studio, "chart.png", image_id="c", baseline=True))[1]
        brighten(history)
        return [snapshot.hash for snapshot in history.ancestry(history.require_head())]

    assert hashes(tmp_path / "one") == hashes(tmp_path / "two")


def test_a_stack_is_stored_as_it_is(chart: History) -> None:
    brighten(chart)
    stack = chart.stack(chart.require_head())
    assert stack.modules[0].parameters == {"ev": 1.0}
    assert replace(stack, modules=()) == Stack(stack.picture)
