"""The rules for budgets: an account never goes below zero, and a closed one does not move."""

import sqlite3
from datetime import datetime

from backoffice.domain.budget import Account, Entry, EntryKind, Summary
from backoffice.domain.errors import Conflict, NotFound
from backoffice.persistence import approvals as approval_table
from backoffice.persistence import budget as budget_table
from backoffice.persistence.database import Database
from backoffice.services.clock import Now


class BudgetService:
    def __init__(self, db: Database, *, now: Now) -> None:
        self._db = db
        self._now = now

    async def page(self, *, offset: int, limit: int) -> tuple[list[Account], int]:
        return await self._db.read(lambda db: budget_table.page(db, offset=offset, limit=limit))

    async def get(self, account_id: str) -> Account:
        """Raises: NotFound."""
        return await self._db.read(lambda db: existing_account(db, account_id))

    async def ledger(
        self, account_id: str, *, since: datetime, until: datetime, offset: int, limit: int
    ) -> tuple[list[Entry], int]:
        """Raises: NotFound."""

        def look(db: sqlite3.Connection) -> tuple[list[Entry], int]:
            existing_account(db, account_id)
            return budget_table.entries(db, account_id, since=since, until=until, offset=offset, limit=limit)

        return await self._db.read(look)

    async def summary(self, account_id: str, *, since: datetime, until: datetime) -> Summary:
        """Raises: NotFound."""

        def look(db: sqlite3.Connection) -> Summary:
            existing_account(db, account_id)
            return budget_table.summary(db, account_id, since=since, until=until)

        return await self._db.read(look)

    async def open(self, account_id: str, *, title: str, amount_cents: int, by: str) -> Account:
        """Raises: Conflict."""

        def work(db: sqlite3.Connection) -> Account:
            if budget_table.find(db, account_id) is not None:
                raise Conflict("An account with this id exists already. Choose another id.")
            budget_table.insert(db, account_id, title=title, at=self._now())
            book(db, account_id, EntryKind.OPENING, amount_cents, purpose="opening balance", by=by, now=self._now)
            return existing_account(db, account_id)

        return await self._db.write(work)

    async def spend(self, account_id: str, *, amount_cents: int, purpose: str, by: str) -> Entry:
        """Raises: NotFound, Conflict."""
        return await self._book(account_id, EntryKind.SPENDING, -amount_cents, purpose=purpose, by=by)

    async def refund(self, account_id: str, *, amount_cents: int, purpose: str, by: str) -> Entry:
        """Raises: NotFound, Conflict."""
        return await self._book(account_id, EntryKind.REFUND, amount_cents, purpose=purpose, by=by)

    async def adjust(self, account_id: str, *, amount_cents: int, purpose: str, by: str) -> Entry:
        """Correct a balance, up or down. Raises: NotFound, Conflict."""
        return await self._book(account_id, EntryKind.ADJUSTMENT, amount_cents, purpose=purpose, by=by)

    async def close(self, account_id: str) -> Account:
        """For good. Raises: NotFound, Conflict."""

        def work(db: sqlite3.Connection) -> Account:
            if _usable(db, account_id).balance_cents:
                raise Conflict("The account still holds money. Spend or adjust it to zero first.")
            if approval_table.count_pending(db, account_id):
                raise Conflict("The account has approvals that are pending. Decide on them first.")
            budget_table.close(db, account_id)
            return existing_account(db, account_id)

        return await self._db.write(work)

    async def _book(self, account_id: str, kind: EntryKind, amount_cents: int, *, purpose: str, by: str) -> Entry:
        return await self._db.write(
            lambda db: book(db, account_id, kind, amount_cents, purpose=purpose, by=by, now=self._now)
        )


def book(
    db: sqlite3.Connection,
    account_id: str,
    kind: EntryKind,
    amount_cents: int,
    *,
    purpose: str,
    by: str,
    now: Now,
) -> Entry:
    """Put an entry into the ledger, as part of a transaction. Raises: NotFound, Conflict."""
    if _usable(db, account_id).balance_cents + amount_cents < 0:
        raise Conflict("The account does not hold that much. Take a smaller amount, or ask for a refund first.")
    return budget_table.book(db, account_id, kind=kind, amount_cents=amount_cents, purpose=purpose, by=by, at=now())


def existing_account(db: sqlite3.Connection, account_id: str) -> Account:
    """Raises: NotFound."""
    account = budget_table.find(db, account_id)
    if account is None:
        raise NotFound("account")
    return account


def _usable(db: sqlite3.Connection, account_id: str) -> Account:
    account = existing_account(db, account_id)
    if account.is_closed:
        raise Conflict("The account is closed. Use another one.")
    return account
