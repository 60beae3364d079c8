"""What handlers work with: the services, and nothing of what stands behind them."""

from collections.abc import Mapping
from dataclasses import dataclass

from backoffice.services.agents import AgentService
from backoffice.services.approvals import ApprovalService
from backoffice.services.budget import BudgetService
from backoffice.services.communication import CommunicationService
from backoffice.services.entities import EntityService
from backoffice.services.organisation import OrganisationService
from backoffice.services.tasks import TaskService


@dataclass(frozen=True, slots=True)
class AppState:
    tasks: TaskService
    agents: AgentService
    budget: BudgetService
    approvals: ApprovalService
    organisation: OrganisationService
    communication: CommunicationService
    entities: Mapping[str, EntityService]  # of every described entity, by its table
