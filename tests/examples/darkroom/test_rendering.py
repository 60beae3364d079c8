"""The renderer as a process: what it answers, and every way it can fail."""

import asyncio
import os
import signal
import sys
from collections.abc import Coroutine
from pathlib import Path

import pytest
from PIL import Image

from darkroom.edits import apply_primitive
from darkroom.history import History
from darkroom.prints import Developed, comparison, export, preview
from darkroom.refusal import Refused
from darkroom.rendering import COMMAND, Renderer
from darkroom.studio import Studio, ingest, open_studio


def refusal(awaited: Coroutine[object, object, object]) -> Refused:
    with pytest.raises(Refused) as refused:
        asyncio.run(awaited)
    return refused.value


def small(studio: Studio, image_id: str = "chart") -> Coroutine[object, object, tuple[str, Developed]]:
    return preview(studio, image_id, ref="HEAD", max_edge=128, file_format="jpeg")


def with_renderer(studio: Studio, program: str, *, seconds: float = 30) -> Studio:
    """The same workspace with another program as its renderer."""
    return open_studio(
        studio.workspace.root, renderer=Renderer(seconds=seconds, command=(sys.executable, "-c", program))
    )


def test_a_preview_is_a_real_file_of_the_size_that_was_asked_for(studio: Studio, chart: History) -> None:
    snapshot, made = asyncio.run(preview(studio, "chart", ref="HEAD", max_edge=120, file_format="jpeg"))
    path = studio.workspace.root / made.print.path
    assert path.read_bytes() == made.body
    with Image.open(path) as picture:
        assert (picture.format, picture.size) == ("JPEG", (120, 80))
    assert (made.print.path, made.print.mime_type, made.print.bytes) == (
        f"images/chart/previews/{snapshot[:12]}-120.jpeg",
        "image/jpeg",
        len(made.body),
    )


def test_a_preview_is_never_larger_than_the_picture(studio: Studio, chart: History) -> None:
    _, made = asyncio.run(preview(studio, "chart", ref="HEAD", max_edge=2048, file_format="png"))
    assert (made.print.width, made.print.height, made.print.mime_type) == (480, 320, "image/png")


def test_an_export_has_the_full_size_and_the_quality(studio: Studio, chart: History) -> None:
    sizes = {}
    for quality in (40, 95):
        _, made = asyncio.run(export(studio, "chart", ref="HEAD", quality=quality, file_format="jpeg"))
        assert (made.print.width, made.print.height) == (480, 320)
        sizes[quality] = made.print.bytes
        with Image.open(studio.workspace.root / made.print.path) as picture:
            assert (picture.format, picture.size) == ("JPEG", (480, 320))
    assert sizes[40] < sizes[95]


def test_a_comparison_shows_both_states_and_measures_them(studio: Studio, chart: History) -> None:
    apply_primitive(chart, "exposure", {"ev": 1}, module_id=None, enabled=True)
    snapshots, made = asyncio.run(
        comparison(studio, "chart", refs=("baseline", "HEAD"), max_edge=200, file_format="png")
    )
    assert snapshots == [chart.resolve("baseline"), chart.resolve("HEAD")]
    assert (made.print.width, made.print.height) == (200 + 8 + 200, 133)
    before, after = made.measured.brightness
    assert before < after
    assert made.measured.difference is not None
    assert made.measured.difference > 0.05


def test_a_comparison_of_different_sizes_has_no_difference(studio: Studio, chart: History) -> None:
    apply_primitive(chart, "rotate", {"degrees": 90}, module_id=None, enabled=True)
    _, made = asyncio.run(comparison(studio, "chart", refs=("baseline", "HEAD"), max_edge=96, file_format="png"))
    assert (made.print.width, made.print.height, made.measured.difference) == (96 + 8 + 64, 96, None)


def test_the_same_state_renders_to_the_same_bytes_in_another_process(studio: Studio, chart: History) -> None:
    apply_primitive(chart, "grain", {"strength": 1}, module_id=None, enabled=True)
    first, second = (asyncio.run(small(studio)) for _ in range(2))
    assert first == second


@pytest.mark.requirement("002-14")
def test_a_truncated_picture_fails_with_the_last_words_of_the_renderer(studio: Studio, samples: Path) -> None:
    body = (samples / "harbour.jpg").read_bytes()
    (studio.workspace.inbox / "half.jpg").write_bytes(body[: len(body) // 2])
    asyncio.run(ingest(studio, "half.jpg", image_id=None, baseline=True))
    refused = refusal(small(studio, "half"))
    assert (refused.code, refused.details["reason"], refused.details["exit_code"]) == ("darktable_error", "exit", 1)
    said = str(refused.details["stderr"]).splitlines()
    assert said[:2] == ["renderer: opening the picture", "renderer: decoding JPEG 480x320"]
    assert said[2].startswith("renderer: error: the picture cannot be decoded: ")
    assert len(said) == 3
    assert not list((studio.workspace.folder("half") / "previews").iterdir())


@pytest.mark.requirement("002-14")
def test_a_file_that_is_no_picture_is_not_taken_in(studio: Studio) -> None:
    (studio.workspace.inbox / "letter.png").write_text("Dear darkroom,")
    refused = refusal(ingest(studio, "letter.png", image_id=None, baseline=True))
    assert refused.code == "darktable_error"
    assert str(refused.details["stderr"]).splitlines() == [
        "renderer: opening the picture",
        "renderer: error: the file is not a picture in one of the formats JPEG, PNG, TIFF, WEBP",
    ]
    assert not studio.workspace.folder("letter").exists()


@pytest.mark.requirement("002-14")
def test_a_picture_beyond_all_bounds_is_not_decoded(studio: Studio) -> None:
    Image.new("1", (20_000, 20_000)).save(studio.workspace.inbox / "huge.png")
    refused = refusal(ingest(studio, "huge.png", image_id=None, baseline=True))
    assert refused.code == "darktable_error"
    assert str(refused.details["stderr"]).endswith("error: the picture has more than 60000000 pixels")


@pytest.mark.requirement("002-14")
def test_a_killed_renderer_is_reported_with_what_it_had_said(studio: Studio, chart: History) -> None:
    async def kill_it() -> None:
        # A large picture and a wide blur: it is at work for seconds unless it is killed.
        Image.new("RGB", (3000, 2000)).save(studio.workspace.inbox / "wide.png")
        _, history = await ingest(studio, "wide.png", image_id=None, baseline=True)
        apply_primitive(history, "blur", {"radius": 25}, module_id=None, enabled=True)
        before = _children()
        render = asyncio.create_task(small(studio, "wide"))
        child = await _new_child(before)
        while not _is_blurring(child):
            assert not render.done()
            await asyncio.sleep(0.01)
        os.kill(child, signal.SIGKILL)
        await render

    refused = refusal(kill_it())
    assert (refused.code, refused.details["reason"], refused.details["signal"]) == ("darktable_error", "signal", 9)
    assert "renderer: opening the picture" in str(refused.details["stderr"])


def _children() -> set[str]:
    """The processes that this one has started and not yet ended, by their ids."""
    return set(Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split())


async def _new_child(before: set[str]) -> int:
    while not (new := _children() - before):  # noqa: ASYNC110  # another process cannot set an event of ours
        await asyncio.sleep(0.01)
    return int(new.pop())


def _is_blurring(pid: int) -> bool:
    """Whether it has used more processor time than starting takes."""
    used = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(used[11]) / os.sysconf("SC_CLK_TCK") > 0.7


@pytest.mark.requirement("002-14")
def test_a_renderer_that_takes_too_long_is_stopped(studio: Studio, chart: History) -> None:
    program = "import sys, time; print('thinking', file=sys.stderr, flush=True); time.sleep(600)"
    before = _children()
    refused = refusal(small(with_renderer(studio, program, seconds=2)))
    assert (refused.code, refused.details) == ("darktable_error", {"stderr": "thinking", "reason": "timeout"})
    assert _children() <= before


def test_a_cancelled_call_leaves_no_renderer_behind(studio: Studio, chart: History) -> None:
    slow = with_renderer(studio, "import time; time.sleep(600)")

    before = _children()

    async def cancel() -> None:
        render = asyncio.create_task(small(slow))
        await _new_child(before)
        render.cancel()
        with pytest.raises(asyncio.CancelledError):
            await render

    asyncio.run(cancel())
    assert _children() <= before


@pytest.mark.parametrize("program", ["pass", "print('no JSON')", "print('[]')"])
def test_a_renderer_without_an_answer_has_failed(studio: Studio, chart: History, program: str) -> None:
    refused = refusal(small(with_renderer(studio, program)))
    assert (refused.code, refused.details) == ("darktable_error", {"stderr": "", "reason": "no_answer"})


def test_only_the_tail_of_a_long_stderr_is_kept(studio: Studio, chart: History) -> None:
    program = "import sys; [print('line', n, 'x' * 200, file=sys.stderr) for n in range(20_000)]; sys.exit(3)"
    refused = refusal(small(with_renderer(studio, program)))
    said = str(refused.details["stderr"])
    assert refused.details["exit_code"] == 3
    assert len(said) == 2000
    assert said.splitlines()[-1].startswith("line 19999 ")


def test_an_unexpected_fault_in_the_renderer_tells_no_secrets(studio: Studio, chart: History) -> None:
    request = {"ask": "render", "picture": str(studio.workspace.root / "nowhere.png"), "recipes": [[]], "max_edge": 1}
    refused = refusal(Renderer().ask(request))
    assert (refused.details["exit_code"], refused.details["stderr"]) == (
        2,
        "renderer: opening the picture\nrenderer: error: unexpected FileNotFoundError",
    )


@pytest.mark.requirement("002-14")
def test_a_picture_that_is_gone_or_changed_is_a_fault_of_the_history(studio: Studio, chart: History) -> None:
    stored = studio.workspace.objects.path(studio.workspace.require_picture("chart").sha256)
    stored.write_bytes(stored.read_bytes()[:-1])
    assert refusal(small(studio)).code == "versioning_error"
    stored.unlink()
    assert refusal(small(studio)).code == "versioning_error"


def test_the_renderer_is_a_module_of_its_own() -> None:
    assert (sys.executable, "-m", "darkroom.renderer") == COMMAND
