"""Where code of the author's failed: files and lines, and never the text of the error, which may quote values."""

import traceback

_MOST_FRAMES = 6


def where_it_happened(error: BaseException) -> str:
    """The innermost frames first."""
    frames = traceback.extract_tb(error.__traceback__)[-_MOST_FRAMES:]
    where = " < ".join(f"{frame.filename}:{frame.lineno} in {frame.name}" for frame in reversed(frames))
    return where or "an unknown place"
