"""The workspace: which paths lead to a picture, which ids are free, and that nothing leads out."""

import asyncio
import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from darkroom.refusal import Refused
from darkroom.studio import Studio, ingest, open_studio
from darkroom.workspace import IMAGE_ID_PATTERN, Picture, derived_id


def refusal_of(studio: Studio, path: str, image_id: str | None = None) -> Refused:
    with pytest.raises(Refused) as refused:
        asyncio.run(ingest(studio, path, image_id=image_id, baseline=True))
    return refused.value


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd.png",
        "../outside.png",
        "a/../../outside.png",
        "..",
        "",
        ".",
        "C:\\outside.png",
        "..\\outside.png",
        "chart.png\0",
        "chart.txt",
        "chart",
    ],
)
def test_a_path_that_is_not_plain_or_not_a_pictures_is_invalid_input(studio: Studio, path: str) -> None:
    (studio.workspace.root / "outside.png").write_bytes((studio.workspace.inbox / "chart.png").read_bytes())
    assert refusal_of(studio, path).code == "invalid_input"


def test_a_link_that_leads_out_of_the_inbox_finds_nothing(studio: Studio, samples: Path) -> None:
    os.symlink(samples / "chart.png", studio.workspace.inbox / "link.png")
    os.symlink(samples, studio.workspace.inbox / "folder")
    os.symlink("chart.png", studio.workspace.inbox / "inside.png")
    assert refusal_of(studio, "link.png").code == "not_found"
    assert refusal_of(studio, "folder/chart.png").code == "not_found"
    assert asyncio.run(ingest(studio, "inside.png", image_id=None, baseline=True))[0].image_id == "inside"


def test_the_inbox_itself_may_be_a_link(tmp_path: Path, samples: Path) -> None:
    (tmp_path / "workspace").mkdir()
    os.symlink(samples, tmp_path / "workspace" / "inbox")
    studio = open_studio(tmp_path / "workspace")
    assert asyncio.run(ingest(studio, "chart.png", image_id=None, baseline=True))[0].image_id == "chart"
    assert refusal_of(studio, "../chart.png").code == "invalid_input"


@pytest.mark.parametrize("path", ["nothing.png", "folder.png"])
def test_what_is_not_a_file_in_the_inbox_is_not_found(studio: Studio, path: str) -> None:
    (studio.workspace.inbox / "folder.png").mkdir()
    assert refusal_of(studio, path).code == "not_found"


@pytest.mark.requirement("002-14")
def test_an_id_that_is_taken_is_a_state_error(studio: Studio, chart: object) -> None:
    for refused in (refusal_of(studio, "chart.png"), refusal_of(studio, "lamp.jpg", "chart")):
        assert (refused.code, refused.details) == ("state_error", {"reason": "id_taken"})


def test_two_that_come_at_once_do_not_share_an_id(studio: Studio) -> None:
    async def both() -> list[object]:
        calls = [ingest(studio, name, image_id="one", baseline=True) for name in ("chart.png", "lamp.jpg")]
        return list(await asyncio.gather(*calls, return_exceptions=True))

    outcomes = asyncio.run(both())
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["Refused", "tuple"]
    assert studio.workspace.history("one").require_baseline()
    assert [path.name for path in studio.workspace.folder("one").parent.iterdir()] == ["one"]


def test_a_picture_is_described_by_what_it_is_not_by_its_name(studio: Studio) -> None:
    (studio.workspace.inbox / "renamed.png").write_bytes((studio.workspace.inbox / "lamp.jpg").read_bytes())
    picture, _ = asyncio.run(ingest(studio, "renamed.png", image_id="lamp", baseline=True))
    assert (picture.format, picture.width, picture.height) == ("jpeg", 480, 320)
    assert studio.workspace.require_picture("lamp") == picture


def test_the_original_may_leave_the_inbox(studio: Studio, chart: object) -> None:
    sha256 = studio.workspace.require_picture("chart").sha256
    (studio.workspace.inbox / "chart.png").unlink()
    assert studio.workspace.objects.require_file(sha256).is_file()


@pytest.mark.parametrize("image_id", ["nobody", "..", "../chart", "", "CHART", "chart\n", "a" * 65])
def test_an_unknown_picture_is_not_found(studio: Studio, chart: object, image_id: str) -> None:
    for ask in (studio.workspace.require_picture, studio.workspace.history):
        with pytest.raises(Refused) as refused:
            ask(image_id)
        assert refused.value.code == "not_found"


@given(name=st.text())
def test_every_file_name_gives_an_id(name: str) -> None:
    assert re.fullmatch(IMAGE_ID_PATTERN, derived_id(name))


def test_a_folder_that_cannot_be_made_leaves_nothing_behind(studio: Studio) -> None:
    with pytest.raises(OSError, match="too long"):
        studio.workspace.add(Picture("x" * 300, "0" * 64, "png", 1, 1))
    assert list(studio.workspace.folder("x").parent.iterdir()) == []
