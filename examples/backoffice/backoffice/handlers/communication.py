"""Channels and messages, in the explicit form without models: time windows, and what a backend cannot do."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from backoffice.app_state import AppState
from backoffice.domain.communication import Channel, ChannelKind, Message
from backoffice.handlers.answering import Arguments, answering, page_of
from backoffice.handlers.outputs import list_schema, schema_of
from backoffice.handlers.written_schemas import MOMENT, NUMBER, PAGING, TEXT, closed
from handfast.toolkit import (
    ArgumentValidationError,
    ToolHandler,
    ToolSpec,
    actor_label,
    admin_tool,
    coerce_pagination,
    ok,
    parse_time_window,
    read_tool,
    require_actor_id,
    require_admin_guardrails,
    require_arg,
    require_non_blank,
    write_tool,
)

_WINDOW: Final = {
    "since": {**MOMENT, "description": "From this moment on, such as 2026-03-01T09:00:00Z."},
    "until": {**MOMENT, "description": "Up to and without this moment."},
}
_MESSAGE: Final = schema_of(Message)
_PURGED: Final = closed({"purged": {"type": "integer", "minimum": 0}}, required=("purged",))

COMMUNICATION_TOOLS: Final[tuple[ToolSpec, ...]] = (
    read_tool(
        "communication_channels_list",
        "List the channels.",
        input_schema=closed(PAGING),
        output_schema=list_schema(Channel),
    ),
    read_tool(
        "communication_messages_list",
        "List the messages of a channel since a moment, oldest first; up to now, if `until` is left out.",
        input_schema=closed({"channel_id": NUMBER, **_WINDOW, **PAGING}, required=("channel_id", "since")),
        output_schema=list_schema(Message),
    ),
    write_tool(
        "communication_channel_open",
        "Open a channel: a board that is read here, or mail that is sent on.",
        input_schema=closed(
            {
                "name": {**TEXT, "maxLength": 200, "description": "A name that no other channel has."},
                "kind": {"enum": [kind.value for kind in ChannelKind], "description": "What stands behind it."},
            },
            required=("name", "kind"),
        ),
        output_schema=schema_of(Channel),
    ),
    write_tool(
        "communication_message_send",
        "Send a message through a channel.",
        input_schema=closed(
            {"channel_id": NUMBER, "body": {**TEXT, "description": "What is to be said."}},
            required=("channel_id", "body"),
        ),
        output_schema=_MESSAGE,
        is_open_world=True,
    ),
    write_tool(
        "communication_message_recall",
        "Take back a message of one's own, where its channel can do that.",
        input_schema=closed({"message_id": NUMBER}, required=("message_id",)),
        output_schema=_MESSAGE,
    ),
    admin_tool(
        "communication_channel_purge",
        "Delete what was sent through a channel between two moments, for good.",
        input_schema=closed({"channel_id": NUMBER, **_WINDOW}, required=("channel_id", "since", "until")),
        output_schema=_PURGED,
    ),
)


@answering
async def _communication_channels_list(*, app_state: AppState, arguments: Arguments, actor: object = None) -> str:
    offset, limit = coerce_pagination(arguments)
    items, total = await app_state.communication.channels(offset=offset, limit=limit)
    return page_of(items, total, offset=offset, limit=limit)


@answering
async def _communication_messages_list(*, app_state: AppState, arguments: Arguments, actor: object = None) -> str:
    channel_id = require_arg(arguments, "channel_id", int)
    since, until = parse_time_window(arguments, until_required=False)
    offset, limit = coerce_pagination(arguments)
    items, total = await app_state.communication.messages(
        channel_id, since=since, until=until, offset=offset, limit=limit
    )
    return page_of(items, total, offset=offset, limit=limit)


@answering
async def _communication_channel_open(*, app_state: AppState, arguments: Arguments, actor: object = None) -> str:
    try:
        kind = ChannelKind(require_arg(arguments, "kind", str))
    except ValueError:
        raise ArgumentValidationError("kind", "kind of channel") from None
    return ok(await app_state.communication.open_channel(name=require_non_blank(arguments, "name"), kind=kind))


@answering
async def _communication_message_send(*, app_state: AppState, arguments: Arguments, actor: object = None) -> str:
    message = await app_state.communication.send(
        require_arg(arguments, "channel_id", int),
        body=require_non_blank(arguments, "body"),
        by=actor_label(actor),
    )
    return ok(message)


@answering
async def _communication_message_recall(*, app_state: AppState, arguments: Arguments, actor: object = None) -> str:
    message_id = require_arg(arguments, "message_id", int)
    return ok(await app_state.communication.recall(message_id, by=require_actor_id(actor)))


@answering
async def _communication_channel_purge(*, app_state: AppState, arguments: Arguments, actor: object = None) -> str:
    require_admin_guardrails(arguments, actor)
    channel_id = require_arg(arguments, "channel_id", int)
    since, until = parse_time_window(arguments)
    purged = await app_state.communication.purge(channel_id, since=since, until=until)
    return ok({"purged": purged})


COMMUNICATION_HANDLERS: Final[Mapping[str, ToolHandler]] = MappingProxyType(
    {
        "communication_channels_list": _communication_channels_list,
        "communication_messages_list": _communication_messages_list,
        "communication_channel_open": _communication_channel_open,
        "communication_message_send": _communication_message_send,
        "communication_message_recall": _communication_message_recall,
        "communication_channel_purge": _communication_channel_purge,
    }
)
