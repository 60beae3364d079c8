"""A studio in a fresh workspace, and the pictures that come with the darkroom, computed once."""

import asyncio
from pathlib import Path
from shutil import copytree

import pytest

from darkroom.history import History
from darkroom.samples import write_samples
from darkroom.studio import Studio, ingest, open_studio
from tests.examples.darkroom.desk import Desk


@pytest.fixture(scope="session")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("samples")
    write_samples(folder)
    return folder


@pytest.fixture
def studio(tmp_path: Path, samples: Path) -> Studio:
    studio = open_studio(tmp_path / "workspace")
    for sample in samples.iterdir():
        (studio.workspace.inbox / sample.name).write_bytes(sample.read_bytes())
    return studio


@pytest.fixture(scope="session")
def taken_in(tmp_path_factory: pytest.TempPathFactory, samples: Path) -> Path:
    """A workspace after the baseline of the colour chart: taking a picture in starts a renderer."""
    studio = open_studio(tmp_path_factory.mktemp("taken-in"))
    (studio.workspace.inbox / "chart.png").write_bytes((samples / "chart.png").read_bytes())
    asyncio.run(ingest(studio, "chart.png", image_id=None, baseline=True))
    return studio.workspace.root


@pytest.fixture
def chart(studio: Studio, taken_in: Path) -> History:
    """The history of the colour chart, after its baseline."""
    copytree(taken_in, studio.workspace.root, dirs_exist_ok=True)
    return studio.workspace.history("chart")


@pytest.fixture
def desk(studio: Studio) -> Desk:
    return Desk(studio)
