"""The tools that show a picture: files that exist, images in the answer, and a renderer that fails."""

import hashlib
import sys
from base64 import b64decode
from io import BytesIO

import pytest
from PIL import Image

from darkroom.rendering import Renderer
from darkroom.studio import open_studio
from darkroom.tools import prints
from tests.examples.darkroom.desk import Desk


@pytest.fixture(autouse=True)
def _two_states(desk: Desk) -> None:
    desk.call("ingest", path="chart.png")
    desk.call("apply_primitive", image_id="chart", primitive="exposure", parameters={"ev": 1})


@pytest.mark.requirement("002-13")
def test_render_preview_gives_a_file_and_the_same_picture_to_look_at(desk: Desk) -> None:
    answer = desk.call("render_preview", image_id="chart", max_edge=120, format="png")
    body = (desk.root / answer["file"]["path"]).read_bytes()
    assert answer["file"] == {
        "path": f"images/chart/previews/{answer['snapshot'][:12]}-120.png",
        "mime_type": "image/png",
        "width": 120,
        "height": 80,
        "bytes": len(body),
        "sha256": hashlib.sha256(body).hexdigest(),
    }
    block = desk.image("render_preview", image_id="chart", max_edge=120, format="png")
    assert (block.mime_type, b64decode(block.data)) == ("image/png", body)
    with Image.open(BytesIO(body)) as picture:
        assert (picture.format, picture.size) == ("PNG", (120, 80))


@pytest.mark.requirement("002-13")
def test_render_preview_shows_the_state_that_was_asked_for(desk: Desk) -> None:
    now = desk.call("render_preview", image_id="chart")
    before = desk.call("render_preview", image_id="chart", ref="baseline")
    assert now["brightness"] > before["brightness"]
    assert (now["file"]["mime_type"], now["shown"]) == ("image/jpeg", True)
    assert now["snapshot"] == desk.call("get_state", image_id="chart")["state_after"]["head_hash"]


@pytest.mark.requirement("002-13")
def test_compare_shows_both_states_and_their_difference(desk: Desk) -> None:
    answer = desk.call("compare", image_id="chart", max_edge=100)
    assert answer["snapshots"] == [each["hash"] for each in reversed(desk.call("log", image_id="chart")["snapshots"])]
    assert (answer["file"]["width"], answer["file"]["height"]) == (208, 67)
    assert answer["brightness"][0] < answer["brightness"][1]
    assert 0 < answer["difference"] < 1
    same = desk.call("compare", image_id="chart", left="HEAD", right="main", max_edge=100)
    assert same["difference"] == 0
    with Image.open(BytesIO(b64decode(desk.image("compare", image_id="chart", max_edge=100).data))) as picture:
        assert picture.size == (208, 67)


@pytest.mark.requirement("002-13")
def test_export_final_has_the_full_size_and_a_name_of_its_own(desk: Desk) -> None:
    answer = desk.call("export_final", image_id="chart", format="png")
    path = desk.root / answer["file"]["path"]
    assert answer["file"]["path"] == f"exports/chart-{answer['snapshot'][:12]}.png"
    with Image.open(path) as picture:
        assert (picture.format, picture.size) == ("PNG", (480, 320))
    assert b64decode(desk.image("export_final", image_id="chart", format="png").data) == path.read_bytes()
    desk.call("export_final", image_id="chart", quality=50)
    desk.call("export_final", image_id="chart", ref="baseline", format="png")
    assert len(list((desk.root / "exports").iterdir())) == 3


def test_a_picture_too_large_to_show_is_still_a_file(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prints, "MAX_SHOWN", 1000)
    answer = desk.answer("export_final", {"image_id": "chart"})
    assert answer.payload is not None
    assert (answer.blocks, answer.payload["data"]["shown"]) == ((), False)
    assert (desk.root / answer.payload["data"]["file"]["path"]).is_file()


@pytest.mark.requirement("002-14")
@pytest.mark.parametrize("tool", ["render_preview", "compare", "export_final"])
def test_what_does_not_exist_is_not_found_and_what_is_not_yet_is_a_state_error(desk: Desk, tool: str) -> None:
    assert desk.code(tool, image_id="nobody") == "not_found"
    ref = "right" if tool == "compare" else "ref"
    assert desk.code(tool, image_id="chart", **{ref: "nowhere"}) == "not_found"
    desk.call("ingest", path="lamp.jpg", baseline=False)
    without_baseline = {"left": "HEAD"} if tool == "compare" else {}
    assert desk.code(tool, image_id="lamp", **without_baseline) == "state_error"


@pytest.mark.requirement("002-14")
@pytest.mark.parametrize("tool", ["render_preview", "compare", "export_final"])
def test_a_renderer_that_fails_is_a_darktable_error_with_its_last_words(desk: Desk, tool: str) -> None:
    picture = (desk.studio.workspace.inbox / "harbour.jpg").read_bytes()
    (desk.studio.workspace.inbox / "torn.jpg").write_bytes(picture[: len(picture) // 2])
    desk.call("ingest", path="torn.jpg")
    error = desk.refused(tool, image_id="torn")
    assert (error["code"], error["recoverable"], error["details"]["exit_code"]) == ("darktable_error", True, 1)
    last = error["details"]["stderr"].splitlines()[-1]
    assert last.startswith("renderer: error: the picture cannot be decoded: ")
    assert str(desk.root) not in str(error)


@pytest.mark.requirement("002-14")
def test_a_renderer_that_dies_is_a_darktable_error(desk: Desk) -> None:
    program = "import os, sys; print('loading', file=sys.stderr, flush=True); os.kill(os.getpid(), 9)"
    command = (sys.executable, "-c", program)
    other = Desk(open_studio(desk.root, renderer=Renderer(command=command)))
    error = other.refused("render_preview", image_id="chart")
    assert (error["code"], error["details"]) == (
        "darktable_error",
        {"stderr": "loading", "reason": "signal", "signal": 9},
    )
    assert desk.call("render_preview", image_id="chart")["shown"]


@pytest.mark.requirement("002-14")
def test_a_damaged_history_is_a_versioning_error(desk: Desk) -> None:
    head = desk.call("get_state", image_id="chart")["state_after"]["head_hash"]
    desk.studio.workspace.objects.path(head).unlink()
    error = desk.refused("render_preview", image_id="chart")
    assert (error["code"], error["details"]) == ("versioning_error", {"object": head})
