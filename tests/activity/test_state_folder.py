"""Where the state folder is."""

from pathlib import Path

import pytest
from platformdirs import user_state_path

from handfast.activity.state_folder import state_folder


def test_the_flag_wins_then_the_environment_then_the_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HANDFAST_STATE", "/from/environment")
    assert state_folder("/from/flag") == Path("/from/flag")
    assert state_folder(None) == Path("/from/environment")
    monkeypatch.delenv("HANDFAST_STATE")
    assert state_folder(None) == user_state_path("handfast")


def test_a_tilde_means_the_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    assert state_folder("~/state") == Path("/home/ada/state")
