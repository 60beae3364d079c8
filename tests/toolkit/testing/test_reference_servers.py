"""The reference servers keep their contract: what is said of good toolboxes that were not made to be tested."""

import asyncio
from pathlib import Path

from backoffice.handlers.toolbox import build_toolbox
from backoffice.seed import seed
from darkroom.samples import write_samples
from darkroom.studio import ingest, open_studio
from darkroom.tools import build_tools
from handfast.toolkit import Actor
from handfast.toolkit.testing.contract import assert_contract
from tests.examples.backoffice.offices import open_office


def test_the_back_office_keeps_its_contract(tmp_path: Path) -> None:
    with open_office(tmp_path) as app:
        asyncio.run(seed(app))
        assert_contract(build_toolbox(app), examples=15, actor=Actor(id="ada"))


def test_the_darkroom_keeps_its_contract(tmp_path: Path) -> None:
    studio = open_studio(tmp_path / "workspace")
    write_samples(studio.workspace.inbox)
    asyncio.run(ingest(studio, "chart.png", image_id=None, baseline=True))
    assert_contract(build_tools(studio), examples=15)
