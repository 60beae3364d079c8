"""Live reload with real files."""

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from handfast.gateway.settings import Settings, SettingsError, load_settings
from handfast.gateway.settings.watch import SettingsWatch


def document(depth: object) -> str:
    return f'{{"mcpServers": {{}}, "output_validation": {{"max_depth": {depth}}}}}'


class Followed:
    """A watched file and what its watch has said."""

    def __init__(self, folder: Path, *, every_s: float = 1.0) -> None:
        self.path = folder / "handfast.json"
        self.path.write_text(document(1), "utf-8")
        self.said: list[tuple[int, int] | str] = []
        self.on_event: Callable[[], None] = lambda: None
        self.watch = SettingsWatch(
            self.path, self.load(), load=self.load, on_change=self.changed, on_refused=self.refused, every_s=every_s
        )

    def load(self) -> Settings:
        return load_settings(self.path, environ={})

    def changed(self, old: Settings, new: Settings) -> None:
        self.said.append((old.output_validation.max_depth, new.output_validation.max_depth))
        self.on_event()

    def refused(self, error: SettingsError) -> None:
        self.said.append(str(error).removeprefix(f"{self.path}: "))
        self.on_event()

    def replace(self, text: str) -> None:
        """Write as editors do: a new file, renamed into place."""
        beside = self.path.with_suffix(".new")
        beside.write_text(text, "utf-8")
        beside.replace(self.path)


@pytest.fixture
def followed(tmp_path: Path) -> Followed:
    return Followed(tmp_path)


TOO_DEEP = "output_validation.max_depth must be a whole number from 1 to 500; got 999"


def test_an_untouched_file_says_nothing(followed: Followed) -> None:
    followed.watch.poll()
    followed.watch.poll()

    assert followed.said == []


def test_a_good_change_is_handed_over_once(followed: Followed) -> None:
    followed.replace(document(22))
    followed.watch.poll()
    followed.watch.poll()

    assert followed.said == [(1, 22)]
    assert followed.watch.current.output_validation.max_depth == 22


def test_a_file_written_in_place_is_noticed_too(followed: Followed) -> None:
    followed.path.write_text(document(333), "utf-8")
    followed.watch.poll()

    assert followed.said == [(1, 333)]


def test_a_file_of_the_same_size_and_time_under_a_new_inode_is_noticed(followed: Followed) -> None:
    before = followed.path.stat()
    followed.replace(document(2))
    os.utime(followed.path, ns=(before.st_atime_ns, before.st_mtime_ns))
    followed.watch.poll()

    assert followed.said == [(1, 2)]


def test_a_touched_file_with_the_same_settings_changes_nothing(followed: Followed) -> None:
    followed.replace(document(1) + "\n\n")
    followed.watch.poll()
    followed.watch.poll()

    assert followed.said == []


@pytest.mark.requirement("004-4")
def test_a_bad_change_is_refused_once_and_the_old_settings_stay(followed: Followed) -> None:
    followed.replace(document(999))
    followed.watch.poll()
    assert followed.said == []  # it may still be being written
    followed.watch.poll()
    followed.watch.poll()

    assert followed.said == [TOO_DEEP]
    assert followed.watch.current.output_validation.max_depth == 1


def test_a_half_written_file_is_waited_for(followed: Followed) -> None:
    followed.path.write_text(document(44)[:30], "utf-8")
    followed.watch.poll()
    followed.path.write_text(document(44), "utf-8")
    followed.watch.poll()
    followed.watch.poll()

    assert followed.said == [(1, 44)]


def test_a_deleted_file_is_refused_once_and_welcome_when_it_is_back(followed: Followed) -> None:
    followed.path.unlink()
    followed.watch.poll()
    followed.watch.poll()
    followed.watch.poll()
    followed.path.write_text(document(55), "utf-8")
    followed.watch.poll()

    assert followed.said == ["does not exist; write one with: handfast config init", (1, 55)]


def test_a_file_gone_for_a_moment_between_two_renames_is_no_news(followed: Followed) -> None:
    followed.path.rename(followed.path.with_suffix(".old"))
    followed.watch.poll()
    followed.path.with_suffix(".old").rename(followed.path)
    followed.watch.poll()
    followed.watch.poll()

    assert followed.said == []


def test_a_link_that_is_turned_to_another_file_is_noticed(tmp_path: Path, followed: Followed) -> None:
    other = tmp_path / "other.json"
    other.write_text(document(66), "utf-8")
    link = tmp_path / "link"
    link.symlink_to(other)
    link.replace(followed.path)
    followed.watch.poll()

    assert followed.said == [(1, 66)]


def test_reload_now_answers_at_once(followed: Followed) -> None:
    followed.replace(document(999))
    followed.watch.reload_now()
    followed.watch.poll()
    followed.replace(document(77))
    followed.watch.reload_now()
    followed.watch.poll()

    assert followed.said == [TOO_DEEP, (1, 77)]


def test_a_running_watch_sees_changes_and_hangup_signals(tmp_path: Path) -> None:
    async def conversation() -> list[tuple[int, int] | str]:
        followed = Followed(tmp_path, every_s=0.01)
        event = asyncio.Event()
        followed.on_event = event.set
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, followed.watch.reload_now)
        running = asyncio.create_task(followed.watch.run())
        for depth in (88, 999):
            followed.replace(document(depth))
            await asyncio.wait_for(event.wait(), 10)
            event.clear()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        followed.replace(document(99))
        os.kill(os.getpid(), signal.SIGHUP)
        await asyncio.wait_for(event.wait(), 10)
        asyncio.get_running_loop().remove_signal_handler(signal.SIGHUP)
        return followed.said

    assert asyncio.run(conversation()) == [(1, 88), TOO_DEEP, (88, 99)]
