"""Tests for servers that are written with the toolkit: a client in memory, and the contract."""

try:
    import hypothesis as _hypothesis  # noqa: F401 - to say at once what is missing, and not deep inside
except ModuleNotFoundError:
    raise ImportError(
        'handfast.toolkit.testing makes its arguments with Hypothesis. Run: pip install "handfast[testing]"'
    ) from None

from handfast.toolkit.testing.contract import assert_contract, contract_problems
from handfast.toolkit.testing.problems import Problem
from handfast.toolkit.testing.session import Mode, in_memory

__all__ = [
    "Mode",
    "Problem",
    "assert_contract",
    "contract_problems",
    "in_memory",
]
