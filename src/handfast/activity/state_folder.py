"""Where handfast keeps its state: the flag, else HANDFAST_STATE, else the platform's state folder."""

import os
from pathlib import Path


def state_folder(flag: str | None) -> Path:
    chosen = flag or os.environ.get("HANDFAST_STATE")
    if chosen:
        return Path(chosen).expanduser()
    from platformdirs import user_state_path  # only imported when nobody chose

    return user_state_path("handfast", appauthor=False)
