"""Approvals, in the typed form: the types of a function are the schemas of its tool."""

from backoffice.app_state import AppState
from backoffice.domain.approvals import Approval, ApprovalStatus
from backoffice.handlers.callers import known_caller
from backoffice.handlers.fields import ByNumber, Cents, Key, Name, Paged, Text
from backoffice.handlers.refusals import refusing
from handfast.toolkit import Args, Call, Page, Toolbox


class ApprovalList(Paged):
    status: ApprovalStatus | None = None
    """Only approvals in this state."""


class ApprovalRequest(Args):
    title: Name
    """What the money is for."""
    account: Key
    """The budget account that pays."""
    amount_cents: Cents
    """How much, in cents."""


class Decision(ByNumber):
    comment: Text = ""
    """For whoever asked."""


class Rejection(ByNumber):
    comment: Name
    """What speaks against it."""


@refusing
async def approvals_list(args: ApprovalList, call: Call) -> Page[Approval]:
    """List requests for money, oldest first."""
    app: AppState = call.app
    items, total = await app.approvals.page(status=args.status, offset=args.offset, limit=args.limit)
    return Page.of(items, total, args)


@refusing
async def approvals_get(args: ByNumber, call: Call) -> Approval:
    """Show one request for money."""
    app: AppState = call.app
    return await app.approvals.get(args.id)


@refusing
async def approvals_request(args: ApprovalRequest, call: Call) -> Approval:
    """Ask for money from a budget account; somebody else has to approve it."""
    app: AppState = call.app
    return await app.approvals.request(
        title=args.title, account=args.account, amount_cents=args.amount_cents, by=known_caller(call)
    )


@refusing
async def approvals_approve(args: Decision, call: Call) -> Approval:
    """Approve a request of somebody else and take the money from its account, once."""
    app: AppState = call.app
    return await app.approvals.approve(args.id, comment=args.comment, by=known_caller(call))


@refusing
async def approvals_reject(args: Rejection, call: Call) -> Approval:
    """Reject a request of somebody else, and say why."""
    app: AppState = call.app
    return await app.approvals.reject(args.id, comment=args.comment, by=known_caller(call))


@refusing
async def approvals_withdraw(args: ByNumber, call: Call) -> Approval:
    """Take back a request of one's own that nobody has decided on."""
    app: AppState = call.app
    return await app.approvals.withdraw(args.id, by=known_caller(call))


@refusing
async def approvals_delete(args: ByNumber, call: Call) -> Approval:
    """Delete a request that moved no money, for good; answers with the request as it was."""
    app: AppState = call.app
    return await app.approvals.delete(args.id)


def register(tools: Toolbox) -> None:
    for look in (approvals_list, approvals_get):
        tools.read(look)
    for change in (approvals_request, approvals_approve, approvals_reject, approvals_withdraw):
        tools.write(change)
    tools.admin(approvals_delete)
