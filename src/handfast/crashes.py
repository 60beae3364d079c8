"""Log texts for unexpected exceptions: where they happened, without secrets from their texts."""

import traceback

from handfast.core.words.redaction import scrub_text

_MOST_FRAMES = 6
_MOST_CAUSES = 5


def where_it_happened(error: BaseException) -> str:
    """Files and lines, innermost first, without the text of the error, which may quote values."""
    frames = traceback.extract_tb(error.__traceback__)[-_MOST_FRAMES:]
    where = " < ".join(f"{frame.filename}:{frame.lineno} in {frame.name}" for frame in reversed(frames))
    return where or "an unknown place"


def describe_crash(error: BaseException) -> str:
    """The tracebacks of an error inside handfast and of its causes, with their texts scrubbed."""
    parts: list[str] = []
    cause: BaseException | None = error
    while cause is not None and len(parts) < _MOST_CAUSES:
        frames = "".join(traceback.format_tb(cause.__traceback__))
        parts.append(f"{frames}{type(cause).__name__}: {_text_of(cause)}")
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    return "\nwhich led to:\n".join(reversed(parts))


def _text_of(error: BaseException) -> str:
    try:
        return scrub_text(str(error))
    except Exception:  # noqa: BLE001 - an exception that cannot be printed; its class is in the text
        return ""
