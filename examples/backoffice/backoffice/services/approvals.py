"""The rules for approvals: decided once, by somebody else, and only as far as the money goes."""

import sqlite3

from backoffice.domain.approvals import Approval, ApprovalStatus
from backoffice.domain.budget import EntryKind
from backoffice.domain.errors import Conflict, Forbidden, NotFound
from backoffice.persistence import approvals as approval_table
from backoffice.persistence.database import Database
from backoffice.services.budget import book, existing_account
from backoffice.services.clock import Now


class ApprovalService:
    def __init__(self, db: Database, *, now: Now) -> None:
        self._db = db
        self._now = now

    async def page(
        self, *, status: ApprovalStatus | None = None, offset: int, limit: int
    ) -> tuple[list[Approval], int]:
        return await self._db.read(lambda db: approval_table.page(db, status=status, offset=offset, limit=limit))

    async def get(self, approval_id: int) -> Approval:
        """Raises: NotFound."""
        return await self._db.read(lambda db: _existing(db, approval_id))

    async def request(self, *, title: str, account: str, amount_cents: int, by: str) -> Approval:
        """Raises: NotFound, Conflict."""

        def work(db: sqlite3.Connection) -> Approval:
            if existing_account(db, account).is_closed:
                raise Conflict("The account is closed. Ask for money from another one.")
            return approval_table.insert(
                db, title=title, account=account, amount_cents=amount_cents, by=by, at=self._now()
            )

        return await self._db.write(work)

    async def approve(self, approval_id: int, *, comment: str = "", by: str) -> Approval:
        """Decide for it and take the money, both or neither. Raises: NotFound, Conflict, Forbidden."""

        def work(db: sqlite3.Connection) -> Approval:
            approval = _pending(db, approval_id)
            _require_another(approval, by)
            decided = self._decide(db, approval_id, ApprovalStatus.APPROVED, by=by, comment=comment)
            book(
                db,
                approval.account,
                EntryKind.SPENDING,
                -approval.amount_cents,
                purpose=f"approval {approval_id}",
                by=by,
                now=self._now,
            )
            return decided

        return await self._db.write(work)

    async def reject(self, approval_id: int, *, comment: str, by: str) -> Approval:
        """Raises: NotFound, Conflict, Forbidden."""

        def work(db: sqlite3.Connection) -> Approval:
            _require_another(_pending(db, approval_id), by)
            return self._decide(db, approval_id, ApprovalStatus.REJECTED, by=by, comment=comment)

        return await self._db.write(work)

    async def withdraw(self, approval_id: int, *, by: str) -> Approval:
        """Raises: NotFound, Conflict, Forbidden."""

        def work(db: sqlite3.Connection) -> Approval:
            if _pending(db, approval_id).requested_by != by:
                raise Forbidden("Only whoever asked for an approval withdraws it. Reject it instead.")
            return self._decide(db, approval_id, ApprovalStatus.WITHDRAWN, by=by, comment="")

        return await self._db.write(work)

    async def delete(self, approval_id: int) -> Approval:
        """Answers with the approval as it was. Raises: NotFound, Conflict."""

        def work(db: sqlite3.Connection) -> Approval:
            approval = _existing(db, approval_id)
            if approval.status is ApprovalStatus.APPROVED:
                raise Conflict("The approval moved money and stays on record. Nothing is left to do.")
            approval_table.delete(db, approval_id)
            return approval

        return await self._db.write(work)

    def _decide(
        self, db: sqlite3.Connection, approval_id: int, status: ApprovalStatus, *, by: str, comment: str
    ) -> Approval:
        return approval_table.decide(db, approval_id, status=status, by=by, at=self._now(), comment=comment)


def _existing(db: sqlite3.Connection, approval_id: int) -> Approval:
    approval = approval_table.find(db, approval_id)
    if approval is None:
        raise NotFound("approval")
    return approval


def _pending(db: sqlite3.Connection, approval_id: int) -> Approval:
    approval = _existing(db, approval_id)
    if approval.status is not ApprovalStatus.PENDING:
        raise Conflict("The approval is decided already, and only once. Request another one.")
    return approval


def _require_another(approval: Approval, by: str) -> None:
    if approval.requested_by == by:
        raise Forbidden("Whoever asks does not decide. Let somebody else do it, or withdraw the request.")
