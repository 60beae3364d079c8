"""Modern clients over HTTP in front of a Backend: every POST stands for itself, and leaving cancels it."""

from collections.abc import Callable, Sequence

from handfast.gateway.admission.draining import STOPPING
from handfast.gateway.callers.identity import caller_of
from handfast.gateway.calls.refused_requests import note_refused
from handfast.gateway.http.exchange import JSON, HttpExchange
from handfast.gateway.translate.backend import Backend, Choice, Requester
from handfast.gateway.translate.clients.http_reply import HttpReply
from handfast.gateway.translate.clients.legacy_client import Diagnose
from handfast.wire.codes import INVALID_REQUEST, UPSTREAM_FAILED
from handfast.wire.eras import META_SUBSCRIPTION, MODERN_REVISION, http_status
from handfast.wire.message import Message
from handfast.wire.modern_request import find_fault, find_legacy_method
from handfast.wire.replies import answer, error_reply

_PARAM = b"mcp-param-"


class ModernFront:
    def __init__(
        self,
        backend: Backend,
        *,
        diagnose: Diagnose,
        supported: Callable[[], Sequence[str]] = lambda: (MODERN_REVISION,),
    ) -> None:
        self._backend = backend
        self._diagnose = diagnose
        self._supported = supported  # all revisions that are offered here
        self._open: dict[HttpReply, Message] = {}

    def quiesce(self) -> None:
        """The gateway is about to stop: streams that only listen end now, and say that they do."""
        for reply, message in self._open.items():
            if message.method == "subscriptions/listen":
                reply.give_up(answer(message.id, {"resultType": "complete", "_meta": {META_SUBSCRIPTION: message.id}}))

    async def close(self, text: str = STOPPING) -> None:
        """Ends subscriptions, and answers all other requests with an error of this text."""
        self.quiesce()
        for reply, message in self._open.items():
            reply.give_up(error_reply(message.id, UPSTREAM_FAILED, text))

    # --- the three methods -----------------------------------------------------------------------------------------

    async def get(self, http: HttpExchange) -> None:
        await http.respond(405, [(b"allow", b"POST")])

    async def delete(self, http: HttpExchange) -> None:
        await http.respond(405, [(b"allow", b"POST")])

    def refuses(self, http: HttpExchange, message: Message) -> bool:
        """Whether the request is wrong in itself, whatever the server."""
        if not message.is_request or message.method == "initialize":
            return True
        return find_fault(message, http.headers, self._supported()) is not None

    async def post(self, http: HttpExchange, message: Message, choice: Choice | None = None) -> None:
        """`choice` has the servers that the URL chose, where it can choose."""
        if message.is_notification:
            await http.respond(202, [])  # a modern client cancels by leaving, and has nothing else to notify of
        elif message.is_answer:
            text = "A modern server asks nothing, so there is nothing to answer. Send a request."
            await http.respond(400, [JSON], error_reply(None, INVALID_REQUEST, text))
        elif fault := find_fault(message, http.headers, self._supported()):
            await http.respond(400, [JSON], note_refused(self._diagnose, message, fault))
        elif missing := find_legacy_method(message):
            await http.respond(404, [JSON], missing)
        else:
            await self._answer(http, message, choice or self._backend)

    async def _answer(self, http: HttpExchange, message: Message, backend: Backend) -> None:
        reply = HttpReply(http, message.id, None, cancels_on_leave=True)
        self._open[reply] = message
        params = [(name, value) for name, value in http.headers if name.startswith(_PARAM)]
        origin = Requester(caller_of(http, message), reply.send, params, reply.flow)
        try:
            await reply.run(_ask(backend, message, origin, reply))
        finally:
            del self._open[reply]


async def _ask(backend: Backend, message: Message, origin: Requester, reply: HttpReply) -> bytes:
    answer = await backend.request(message, origin)
    reply.status = http_status(answer)
    return answer.raw
