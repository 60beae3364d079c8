"""The tool that takes a picture in."""

import hashlib

import pytest

from tests.examples.darkroom.desk import Desk


@pytest.mark.requirement("002-13")
def test_ingest_copies_a_picture_and_begins_its_history(desk: Desk) -> None:
    body = (desk.studio.workspace.inbox / "harbour.jpg").read_bytes()
    taken = desk.call("ingest", path="harbour.jpg")
    assert taken == {
        "image_id": "harbour",
        "sha256": hashlib.sha256(body).hexdigest(),
        "format": "jpeg",
        "width": 480,
        "height": 320,
        "head_hash": desk.call("get_state", image_id="harbour")["state_after"]["head_hash"],
    }
    assert (desk.studio.workspace.inbox / "harbour.jpg").read_bytes() == body


@pytest.mark.requirement("002-13")
def test_ingest_without_a_baseline_takes_no_snapshot(desk: Desk) -> None:
    assert desk.call("ingest", path="lamp.jpg", image_id="night-1", baseline=False)["head_hash"] is None


@pytest.mark.requirement("002-13")
@pytest.mark.requirement("002-14")
def test_ingest_refuses_with_the_code_that_fits(desk: Desk) -> None:
    (desk.studio.workspace.inbox / "letter.png").write_text("Dear darkroom,")
    desk.call("ingest", path="chart.png")
    codes = {
        "taken": desk.code("ingest", path="chart.png"),
        "missing": desk.code("ingest", path="nothing.png"),
        "absolute": desk.code("ingest", path=str(desk.studio.workspace.inbox / "lamp.jpg")),
        "above": desk.code("ingest", path="../inbox/lamp.jpg"),
        "another kind": desk.code("ingest", path="lamp.gif"),
        "no picture": desk.code("ingest", path="letter.png"),
        "no id": desk.code("ingest", path="lamp.jpg", image_id="../lamp"),
    }
    assert codes == {
        "taken": "state_error",
        "missing": "not_found",
        "absolute": "invalid_input",
        "above": "invalid_input",
        "another kind": "invalid_input",
        "no picture": "darktable_error",
        "no id": "invalid_input",
    }
    stderr = desk.refused("ingest", path="letter.png")["details"]["stderr"]
    assert stderr.endswith("error: the file is not a picture in one of the formats JPEG, PNG, TIFF, WEBP")
