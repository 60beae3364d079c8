"""A studio in a fresh workspace, and the pictures that come with the darkroom, computed once."""

import asyncio
from pathlib import Path

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


@pytest.fixture
def chart(studio: Studio) -> History:
    """The history of the colour chart, after its baseline."""
    return asyncio.run(ingest(studio, "chart.png", image_id=None, baseline=True))[1]


@pytest.fixture
def desk(studio: Studio) -> Desk:
    return Desk(studio)
