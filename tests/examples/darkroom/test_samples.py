"""The pictures that come with the darkroom: the same every time, and never in the way of one's own."""

from pathlib import Path

from PIL import Image

from darkroom.samples import write_samples


def test_the_samples_are_the_same_every_time(samples: Path, tmp_path: Path) -> None:
    made = write_samples(tmp_path)
    assert [path.name for path in made] == ["harbour.jpg", "chart.png", "lamp.jpg"]
    for path in made:
        assert path.read_bytes() == (samples / path.name).read_bytes()
        with Image.open(path) as picture:
            assert (picture.size, picture.mode) == ((480, 320), "RGB")


def test_a_file_that_is_there_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "lamp.jpg").write_bytes(b"mine")
    assert [path.name for path in write_samples(tmp_path)] == ["harbour.jpg", "chart.png"]
    assert (tmp_path / "lamp.jpg").read_bytes() == b"mine"
