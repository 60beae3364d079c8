"""Which requests may be sent a second time: those that change nothing, and calls whose tool says so of itself."""

from handfast.core.call import rules
from handfast.gateway.calls.pending import Pending
from handfast.gateway.calls.server_side import ServerSide
from handfast.wire.methods import HARMLESS


def is_repeatable(pending: Pending, server: ServerSide) -> bool:
    """Whether a request that may have reached the server may be sent once more."""
    if pending.call is None:
        return pending.method in HARMLESS
    contract = pending.call.contract
    # The tool's claim is only the server's word, so the operator has to accept it first.
    return contract is not None and contract.is_repeatable and server.retries_idempotent()


def note_repeat(pending: Pending | None, server: ServerSide, why: str) -> None:
    """Records a repeat: in the record of its call if it is one, else by itself."""
    if pending is not None and pending.call is not None:
        pending.call.details["retries"] = 1
        return
    server.journal.diagnose(server.name, rules.REQUEST_REPEATED, f"A request was sent a second time: {why}")
