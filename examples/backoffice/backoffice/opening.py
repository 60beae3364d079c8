"""Opening the back office: the database, its tables, and the services over it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from backoffice.app_state import AppState
from backoffice.domain.catalogue import CATALOGUE
from backoffice.domain.communication import ChannelKind
from backoffice.persistence import agents, approvals, budget, communication, entity_events, organisation, tasks
from backoffice.persistence.database import Database
from backoffice.persistence.entities import EntityTable
from backoffice.persistence.mail_spool import MailSpool
from backoffice.services.agents import AgentService
from backoffice.services.approvals import ApprovalService
from backoffice.services.budget import BudgetService
from backoffice.services.channel_backends import BoardBackend, ChannelBackend, MailBackend
from backoffice.services.clock import Now, utc_now
from backoffice.services.communication import CommunicationService
from backoffice.services.entities import EntityService
from backoffice.services.organisation import OrganisationService
from backoffice.services.tasks import TaskService

_TABLES = (
    *(module.TABLES for module in (agents, tasks, budget, approvals, organisation, communication, entity_events)),
    *(EntityTable(entity).definition for entity in CATALOGUE),
)


@contextmanager
def opened(path: Path, *, now: Now = utc_now) -> Iterator[AppState]:
    """The back office in that file, made if it is not there; mails go to a folder beside it."""
    db = Database(path, _TABLES)
    try:
        yield _services(db, MailSpool(path.with_suffix(".mail")), now)
    finally:
        db.close()


def _services(db: Database, spool: MailSpool, now: Now) -> AppState:
    others = {entity.table: entity for entity in CATALOGUE}
    backends: dict[ChannelKind, ChannelBackend] = {
        ChannelKind.BOARD: BoardBackend(),
        ChannelKind.MAIL: MailBackend(spool),
    }
    return AppState(
        tasks=TaskService(db, now=now),
        agents=AgentService(db, now=now),
        budget=BudgetService(db, now=now),
        approvals=ApprovalService(db, now=now),
        organisation=OrganisationService(db, now=now),
        communication=CommunicationService(db, now=now, backends=backends),
        entities=MappingProxyType(
            {entity.table: EntityService(db, entity, now=now, others=others) for entity in CATALOGUE}
        ),
    )
