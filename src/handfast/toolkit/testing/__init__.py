"""Testing servers written with the toolkit: a client in memory, contract checks, and recorded sessions."""

try:
    import hypothesis as _hypothesis  # noqa: F401 - to say at once what is missing, and not deep inside
except ModuleNotFoundError:
    raise ImportError(
        "handfast.toolkit.testing makes its arguments with Hypothesis. Run: pip install hypothesis"
    ) from None

from handfast.toolkit.testing.contract import assert_contract, contract_problems
from handfast.toolkit.testing.problems import Problem
from handfast.toolkit.testing.session import Mode, in_memory
from handfast.toolkit.testing.transcripts.recording import Recording, Step, record
from handfast.toolkit.testing.transcripts.replaying import Difference, assert_replays, replay, replay_through
from handfast.toolkit.testing.transcripts.transcript import Transcript, Turn

__all__ = [
    "Difference",
    "Mode",
    "Problem",
    "Recording",
    "Step",
    "Transcript",
    "Turn",
    "assert_contract",
    "assert_replays",
    "contract_problems",
    "in_memory",
    "record",
    "replay",
    "replay_through",
]
