"""Budgets, in the typed form, with two tools that only an admin may use."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from backoffice.app_state import AppState
from backoffice.domain.budget import Account, Entry, Summary
from backoffice.handlers.callers import known_caller
from backoffice.handlers.fields import ByKey, Cents, Key, Moment, Name, NewKey, Paged
from backoffice.handlers.refusals import refusing
from handfast.toolkit import Args, Call, Page, Toolbox, error_invalid_input

_MOST_CENTS = 10**12


class NewAccount(Args):
    id: NewKey
    """A short id, such as office or travel-2027."""
    title: Name
    """What the money is for."""
    amount_cents: Cents
    """What it holds at first, in cents."""


class Movement(Args):
    account: Key
    """The id of the account."""
    amount_cents: Cents
    """How much, in cents."""
    purpose: Name
    """What for."""


class Adjustment(Args):
    account: Key
    """The id of the account."""
    amount_cents: Annotated[int, Field(ge=-_MOST_CENTS, le=_MOST_CENTS)]
    """What to add, in cents; negative to take away."""


class Window(Args):
    account: Key
    """The id of the account."""
    since: Moment
    """From this moment on, with its offset, such as 2026-03-01T09:00:00Z."""
    until: Moment
    """Up to and without this moment."""


class LedgerPage(Window, Paged):
    """A part of the ledger between two moments."""


@refusing
async def budget_accounts_list(args: Paged, call: Call) -> Page[Account]:
    """List the budget accounts with what they hold."""
    app: AppState = call.app
    items, total = await app.budget.page(offset=args.offset, limit=args.limit)
    return Page.of(items, total, args)


@refusing
async def budget_account_get(args: ByKey, call: Call) -> Account:
    """Show one budget account."""
    app: AppState = call.app
    return await app.budget.get(args.id)


@refusing
async def budget_ledger(args: LedgerPage, call: Call) -> Page[Entry]:
    """List what moved on an account between two moments, oldest first."""
    app: AppState = call.app
    since, until = require_window(args)
    items, total = await app.budget.ledger(args.account, since=since, until=until, offset=args.offset, limit=args.limit)
    return Page.of(items, total, args)


@refusing
async def budget_summary(args: Window, call: Call) -> Summary:
    """Add up what moved on an account between two moments."""
    app: AppState = call.app
    since, until = require_window(args)
    return await app.budget.summary(args.account, since=since, until=until)


@refusing
async def budget_account_open(args: NewAccount, call: Call) -> Account:
    """Open a budget account."""
    app: AppState = call.app
    return await app.budget.open(args.id, title=args.title, amount_cents=args.amount_cents, by=known_caller(call))


@refusing
async def budget_spend(args: Movement, call: Call) -> Entry:
    """Spend from an account; it never goes below zero."""
    app: AppState = call.app
    return await app.budget.spend(
        args.account, amount_cents=args.amount_cents, purpose=args.purpose, by=known_caller(call)
    )


@refusing
async def budget_refund(args: Movement, call: Call) -> Entry:
    """Put money back into an account."""
    app: AppState = call.app
    return await app.budget.refund(
        args.account, amount_cents=args.amount_cents, purpose=args.purpose, by=known_caller(call)
    )


@refusing
async def budget_adjust(args: Adjustment, call: Call) -> Entry:
    """Correct what an account holds; the reason becomes the entry's purpose."""
    app: AppState = call.app
    return await app.budget.adjust(
        args.account, amount_cents=args.amount_cents, purpose=call.reason, by=known_caller(call)
    )


@refusing
async def budget_account_close(args: ByKey, call: Call) -> Account:
    """Close an empty account for good."""
    app: AppState = call.app
    return await app.budget.close(args.id)


def require_window(args: Window) -> tuple[datetime, datetime]:
    """Raises: ToolError. What a schema cannot say is a wrong value, not a wrong shape."""
    if args.since >= args.until:
        raise error_invalid_input("Argument 'since' must be before 'until'. Exchange them and call again.")
    return args.since, args.until


def register(tools: Toolbox) -> None:
    for look in (budget_accounts_list, budget_account_get, budget_ledger, budget_summary):
        tools.read(look)
    for change in (budget_account_open, budget_spend, budget_refund):
        tools.write(change)
    for override in (budget_adjust, budget_account_close):
        tools.admin(override)
