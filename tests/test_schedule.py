"""What is begun first, and what stays together, is there to be run."""

from tests.demo import ROOT
from tests.schedule import LONGEST, TOGETHER


def test_every_name_of_the_schedule_leads_to_tests() -> None:
    missing = [
        name for name in (*LONGEST, *TOGETHER) if not any(ROOT.glob(name if name.endswith(".py") else f"{name}*.py"))
    ]
    assert missing == []
    assert len(set(LONGEST)) == len(LONGEST)
