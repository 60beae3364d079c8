"""What a new back office begins with, so that there is something to see."""

from datetime import date

from backoffice.app_state import AppState
from backoffice.domain.communication import ChannelKind
from backoffice.domain.entities import Row
from backoffice.domain.organisation import MemberRole
from backoffice.domain.tasks import Priority

_OPERATOR = "operator"
_AGENTS = {
    "ada": ("analyst", ("figures", "reports")),
    "grace": ("engineer", ("compilers", "reviews")),
    "mary": ("buyer", ("contracts",)),
}
_TASKS = (
    ("Renew the lease of the warehouse", Priority.HIGH, date(2027, 1, 15)),
    ("Count the stock", Priority.NORMAL, date(2026, 12, 31)),
    ("Answer the auditors", Priority.NORMAL, None),
)
_ROWS: dict[str, Row] = {
    "infrastructure_hosts": {"name": "eu-1", "region": "eu-north", "cores": 8, "state": "up"},
    "memory_notes": {"name": "Auditors", "body": "They want the ledger as a table.", "topic": "audit", "importance": 7},
}


async def seed(app: AppState) -> bool:
    """Fill an empty back office; one that is in use stays as it is. Returns whether it was empty."""
    _, agents = await app.agents.page(offset=0, limit=1)
    if agents:
        return False
    for name, (role, skills) in _AGENTS.items():
        await app.agents.register(name, role=role, skills=skills)
    for title, priority, due in _TASKS:
        await app.tasks.create(title=title, priority=priority, due=due, by=_OPERATOR)
    await app.tasks.assign(1, "mary", by=_OPERATOR)
    await app.budget.open("office", title="Running costs", amount_cents=250_000, by=_OPERATOR)
    await app.approvals.request(title="New chairs", account="office", amount_cents=120_000, by="mary")
    await app.approvals.request(title="A fountain", account="office", amount_cents=900_000, by="mary")
    team = await app.organisation.create(name="Operations", purpose="Keeps things going.")
    await app.organisation.add_member(team.id, "grace", role=MemberRole.LEAD)
    board = await app.communication.open_channel(name="notices", kind=ChannelKind.BOARD)
    await app.communication.send(board.id, body="The office is closed on Friday.", by="mary")
    for table, row in _ROWS.items():
        await app.entities[table].create(row, by=_OPERATOR)
    return True
