"""A recorder that keeps what it is given, for looking at it."""

from handfast.core.call.exchange import Record, Ticket


class Kept:
    """Implements core's Recorder in memory."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def record(self, *records: Record) -> int:
        self.records.extend(records)
        return len(self.records)

    def record_refusal(self, _caller: str, *records: Record) -> int:
        return self.record(*records)

    async def committed(self, ticket: Ticket) -> None:
        assert isinstance(ticket, int)
        assert ticket <= len(self.records)

    async def room(self) -> None:
        """There is always room."""

    def digest(self, value: bytes) -> str:
        return f"{len(value)} bytes"

    def told(self) -> list[tuple[str, str, str, str]]:
        return [(record.type.value, record.status.value, record.tool, record.rule) for record in self.records]
