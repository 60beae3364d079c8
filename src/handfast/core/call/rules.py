"""The catalogue of rule ids: every `rule` that a record can have, what happened and what to do about it. Pure.

The text under each constant says in its first sentence what happened, then what to do. docs/rules.md is made from
these texts. A refusal is a rule whose diagnostics have the status `blocked`, because the message went no further.
"""

from typing import Final

_refusals: set[str] = set()


def is_refusal(rule: str) -> bool:
    return rule in _refusals


def _refusal(rule: str) -> str:
    _refusals.add(rule)
    return rule


# --- access ----------------------------------------------------------------------------------------------------------

ACCESS_FOREIGN: Final = _refusal("access.foreign")
"""A request named a task or state of another caller. Use the ids that this client was given itself."""
ACCESS_HIDDEN: Final = "access.hidden"
"""A list was shown without what its caller may not use. Nothing; give the caller more scopes if it needs them."""
ACCESS_MISSING_ACTOR: Final = _refusal("access.missing_actor")
"""An admin tool was called by a caller who is not known. Sign the caller in."""
ACCESS_MISSING_CONFIRM: Final = _refusal("access.missing_confirm")
"""An admin tool was called without `confirm: true`. Send it if the operation is really wanted."""
ACCESS_MISSING_REASON: Final = _refusal("access.missing_reason")
"""An admin tool was called without a readable `reason`. Say why the operation is done."""
ACCESS_SCOPE: Final = _refusal("access.scope")
"""A token lacks the scope for what was asked. Give the caller a token with the scope that `reason` names."""

# --- activity --------------------------------------------------------------------------------------------------------

ACTIVITY_PRUNED: Final = "activity.pruned"
"""Retention removed every record up to a place in the chain. Raise `keep_bytes` or `keep_days` to keep more."""
ACTIVITY_THINNED: Final = "activity.thinned"
"""Retention removed plain successes from a stretch of the chain. Raise `keep_bytes` to keep more."""
ACTIVITY_WRITE_FAILURE: Final = "activity.write_failure"
"""Records could not be written for a while. Look at the disk of the state folder; the record counts what was lost."""

# --- arguments -------------------------------------------------------------------------------------------------------

ARGUMENTS_FORGED_STATE: Final = _refusal("arguments.forged_state")
"""The state of a tool's question came back changed, late, or with another call or caller. Call again without it."""
ARGUMENTS_AMBIGUOUS: Final = _refusal("arguments.ambiguous")
"""Two parsers could read the arguments differently. Send plain JSON with each key once."""
ARGUMENTS_BOUNDS: Final = _refusal("arguments.bounds")
"""The arguments hold more fields or values than are judged. Send fewer at a time."""
ARGUMENTS_NESTED_WRAPPER: Final = _refusal("arguments.nested_wrapper")
"""The fields were wrapped in an object that the tool does not declare. Send them flat, at the top level."""
ARGUMENTS_PROTOCOL: Final = _refusal("arguments.protocol")
"""An argument for help, pages or filters is of a wrong kind or means nothing for this tool. Correct or remove it."""
ARGUMENTS_SCHEMA: Final = "arguments.schema"
"""The arguments break the input schema; forwarded in `warn`, refused in `strict`. Correct what `reason` names."""
ARGUMENTS_UNKNOWN: Final = _refusal("arguments.unknown")
"""Arguments were sent that the tool does not declare. Remove them, or allow them with `unknown_arguments`."""

# --- auth: callers that could not sign in ----------------------------------------------------------------------------

AUTH_AUDIENCE: Final = _refusal("auth.audience")
"""A token was made for another gateway or endpoint. Use one that was made for this address."""
AUTH_CLAIMS: Final = _refusal("auth.claims")
"""A signed token lacks claims, or has others than it may. See who makes the tokens."""
AUTH_EXPIRED: Final = _refusal("auth.expired")
"""A token has expired. Make a new one with `handfast token rotate`."""
AUTH_ISSUER: Final = _refusal("auth.issuer")
"""A token names an issuer that is not trusted here. Send one of this gateway."""
AUTH_MALFORMED: Final = _refusal("auth.malformed")
"""What was sent in `Authorization` is no token. Send `Bearer` and the whole text of the token."""
AUTH_MISSING: Final = _refusal("auth.missing")
"""A request came without a token. Give the client one: `handfast token create`."""
AUTH_NOT_YET: Final = _refusal("auth.not_yet")
"""A token is not valid yet. Compare the clocks of the two machines."""
AUTH_QUERY: Final = _refusal("auth.query")
"""A token came in the address, where logs keep it. Revoke it, and send the next one as a header."""
AUTH_REVOKED: Final = _refusal("auth.revoked")
"""A revoked token was used. Give the client a new one, or find out who still has the old one."""
AUTH_SIGNATURE: Final = _refusal("auth.signature")
"""A token's signature is wrong, or of an algorithm that is not used here. Find out who forges tokens."""
AUTH_UNKNOWN_KEY: Final = _refusal("auth.unknown_key")
"""A token was signed by a key that is not known, or is not kept any more. Make a new one here."""

# --- calls, clients, connections -------------------------------------------------------------------------------------

CALLS_FULL: Final = "calls.full"
"""The gateway, a caller or a connection has as many calls in progress as its limit allows. Call again in a moment."""
CALLER_RATE: Final = _refusal("caller.rate")
"""A caller sent more requests in a minute than it may. Send fewer, or raise `limits.requests_per_minute`."""
CLIENT_LEFT: Final = "client.left"
"""The client closed its connection before the call was forwarded or answered. Nothing, unless it happens often."""
CLIENT_SLOW: Final = "client.slow"
"""Notifications were dropped because the client reads too slowly. Let the client read while its call runs."""
CONNECTION_REFUSED: Final = _refusal("connection.refused")
"""A connection was refused because too many are open. Close some, or raise the limit on connections."""

# --- combined: all servers at one endpoint ---------------------------------------------------------------------------

COMBINED_CONTESTED_LINK: Final = "combined.contested_link"
"""A server linked a URI that other servers link or template too. Use `/mcp/<server>` to read it from another one."""
COMBINED_FOREIGN_UPDATE: Final = "combined.foreign_update"
"""A server sent an update of a URI that is not its own or was not asked for. It was dropped; correct the server."""
COMBINED_FORGED: Final = _refusal("combined.forged")
"""A task id, state or cursor came back changed or from another caller. Send it as it came."""
COMBINED_REFUSED: Final = _refusal("combined.refused")
"""A call at `/mcp` names no server that is there. Take a name from tools/list."""
COMBINED_SAME_URI: Final = "combined.same_uri"
"""Two servers list or link the same URIs, which lead to the first. Use `/mcp/<server>` for those of the second."""
COMBINED_TEMPLATED: Final = "combined.templated"
"""A URI that no server lists went to the one server whose template fits. Nothing; it says which one."""
COMBINED_UNAVAILABLE: Final = "combined.unavailable"
"""The combined endpoint goes without a server that did not answer. See `handfast servers` for its last error."""
COMBINED_UNREADABLE: Final = "combined.unreadable"
"""A server listed items without a readable name or URI, which were left out. Correct the server's list."""
COMBINED_UNROUTED: Final = _refusal("combined.unrouted")
"""A URI belongs to no server, or to several. Ask at `/mcp/<server>`."""
COMBINED_UNUSABLE_STATE: Final = "combined.unusable_state"
"""A server asked for more with a requestState that is no text. Correct the server."""

# --- contracts -------------------------------------------------------------------------------------------------------

CONTRACT_ADDED: Final = "contract.added"
"""A server lists a tool that was not known. Nothing."""
CONTRACT_CHANGED: Final = "contract.changed"
"""A tool's schemas or annotations changed. Check that agents and settings still fit it."""
CONTRACT_MANY: Final = "contract.many"
"""More contracts of one list changed than get a record each. See why the server's list changes so much."""
CONTRACT_REMOVED: Final = "contract.removed"
"""A server no longer lists a tool. Check that nothing depends on it."""
CONTRACT_TOO_MANY: Final = "contract.too_many"
"""A server lists more tools than are kept; the others are not offered. Split the server, or list fewer tools."""
CONTRACT_UNAVAILABLE: Final = _refusal("contract.unavailable")
"""The list of tools could not be had, and unknown tools are blocked. Call again in a moment."""
CONTRACT_UNKNOWN: Final = "contract.unknown"
"""A call or a task's result was forwarded unjudged: no contract was known. Set `unknown_tools` to `block` to refuse."""
CONTRACT_UNLISTED: Final = _refusal("contract.unlisted")
"""The server lists no tool of this name, and unknown tools are blocked. Take a name from tools/list."""
CONTRACT_UNREADABLE: Final = "contract.unreadable"
"""A list of tools could not be read, so its tools are not judged. Correct the server's answer to tools/list."""

# --- dispatch: one tool in place of many -----------------------------------------------------------------------------

DISPATCH_ACTION: Final = _refusal("dispatch.action")
"""A dispatcher was called without the name of an action. Send `{"action": "help"}` for the list."""
DISPATCH_ARGUMENTS: Final = _refusal("dispatch.arguments")
"""`arguments` of a dispatcher is of the wrong type. Send a JSON object with the fields of the action."""
DISPATCH_FLAT: Final = _refusal("dispatch.flat")
"""The fields of an action stand beside `action`. Put them inside `arguments`."""
DISPATCH_HELP: Final = "dispatch.help"
"""A dispatcher explained its actions. Nothing."""
DISPATCH_MALFORMED: Final = _refusal("dispatch.malformed")
"""`action`, `resource` or `help` of a dispatcher is of the wrong type. Send names as text and help as a boolean."""
DISPATCH_UNKNOWN_ACTION: Final = _refusal("dispatch.unknown_action")
"""A dispatcher has no action of this name. Take one that the answer lists."""
DISPATCH_UNKNOWN_KEY: Final = _refusal("dispatch.unknown_key")
"""A key beside `action` means nothing. Remove it, or put it inside `arguments`."""

# --- the gateway's room ----------------------------------------------------------------------------------------------

GATEWAY_STOPPING: Final = _refusal("gateway.stopping")
"""The gateway was stopping and took no more requests. Send it again once the gateway runs."""
LISTENING_NO_ROOM: Final = _refusal("listening.no_room")
"""Too many streams only listen to a server. End one, or try again later."""
QUESTION_EVICTED: Final = "question.evicted"
"""A call that waited for its client's answer was given up to make room. Answer sooner, or begin the call again."""
QUEUE_DISMISSED: Final = "queue.dismissed"
"""A call left the queue because its session or server ended. Call again if it is still wanted."""
QUEUE_FULL: Final = "queue.full"
"""As many calls wait for the server as may. Call again in a moment, or raise the limit on waiting calls."""
QUEUE_TIMEOUT: Final = "queue.timeout"
"""A call waited for its turn as long as it may. Call again later, or send fewer calls at once."""
RECORDING_FAILED: Final = "recording.failed"
"""A call ended because its record could not be written. Look at the disk of the state folder."""
REQUESTS_NO_ROOM: Final = _refusal("requests.no_room")
"""Too many requests wait for a server. Wait for their answers, or try again later."""

# --- messages --------------------------------------------------------------------------------------------------------

MESSAGE_AMBIGUOUS: Final = _refusal("message.ambiguous")
"""Two parsers could read a message differently. Send each key once, as plain JSON."""
MESSAGE_HEADER_MISMATCH: Final = _refusal("message.header_mismatch")
"""A header says something else than the body. Send the same in both."""
MESSAGE_ID_IN_USE: Final = "message.id_in_use"
"""A request has the id of one that is still open. Use each id once."""
MESSAGE_REFUSED: Final = _refusal("message.refused")
"""What a client sent is no message of the protocol, or too large. Correct what `reason` names."""
MESSAGE_TOO_LARGE: Final = "message.too_large"
"""A server's message over `limits.message_bytes` was dropped. Let the server send less, or raise the limit."""
MESSAGE_UNOWNED: Final = "message.unowned"
"""A server's request was refused because it belongs to no one caller. Set `isolation` to `session` for this server."""
MESSAGE_UNPAIRED: Final = "message.unpaired"
"""An answer belongs to no open request and was dropped. Nothing where a call was cancelled; else correct its sender."""
MESSAGE_UNREAD: Final = "message.unread"
"""A notification was dropped because the client does not read. Let the client read its input."""
MESSAGE_UNREADABLE: Final = "message.unreadable"
"""What a server sent is no message of the protocol and was dropped. Correct the server."""

# --- requests over HTTP ----------------------------------------------------------------------------------------------

REQUEST_BODY_TOO_LARGE: Final = _refusal("request.body_too_large")
"""A request's body is over its limit. Send a smaller one, or raise `limits.body_bytes`."""
REQUEST_HEAD_TOO_LARGE: Final = _refusal("request.head_too_large")
"""A request's line and headers are too long or too many. Send fewer and shorter ones."""
REQUEST_MALFORMED: Final = _refusal("request.malformed")
"""A request is not HTTP as RFC 9112 has it. Correct the client, or what stands in front of the gateway."""
REQUEST_REFUSED: Final = _refusal("request.refused")
"""A request is wrong in itself, or there was no room for it. Correct what `reason` names."""
REQUEST_REPEATED: Final = "request.repeated"
"""A harmless request was sent a second time because the server broke off. Nothing, unless it happens often."""
REQUEST_REPEATED_HEADER: Final = _refusal("request.repeated_header")
"""A header that may stand only once is repeated. Send each header once."""
REQUEST_SLOW: Final = _refusal("request.slow")
"""A request did not arrive in time. Send it in one go."""
REQUEST_UNKNOWN_HOST: Final = _refusal("request.unknown_host")
"""A request's Host is not served here. Add it to `allowed_hosts` if it should be."""
REQUEST_UNKNOWN_ORIGIN: Final = _refusal("request.unknown_origin")
"""A page of another origin used the gateway. Add the origin to `allowed_origins` if it may."""
REQUEST_UNREADABLE: Final = _refusal("request.unreadable")
"""A body is not plain JSON in UTF-8. Send `application/json` without another encoding."""

# --- results and schemas ---------------------------------------------------------------------------------------------

RESULT_AMBIGUOUS: Final = _refusal("result.ambiguous")
"""Two parsers could read a result differently; structured content alone is forwarded in `warn`. Correct the tool."""
RESULT_MAX_BYTES: Final = "result.max_bytes"
"""The structured content is over `output_validation.max_bytes`. Let the tool send less, or raise the limit."""
RESULT_MAX_DEPTH: Final = "result.max_depth"
"""The structured content is nested deeper than `output_validation.max_depth`. Flatten it, or raise the limit."""
RESULT_MISSING: Final = "result.missing"
"""The tool declares an output schema and sent no structured content. Correct the tool."""
RESULT_SCHEMA: Final = "result.schema"
"""The result breaks the output schema; forwarded in `warn`, replaced in `strict`. Correct the tool."""
RESULT_UNKNOWN_TASK: Final = _refusal("result.unknown_task")
"""The result of a task was blocked because its tool is not known. Begin the task again through handfast."""
SCHEMA_UNCOMPILABLE: Final = "schema.uncompilable"
"""A tool's schema cannot be used, so only what needs none is judged. Correct the schema; `reason` says where."""

# --- servers ---------------------------------------------------------------------------------------------------------

SERVER_EXITED: Final = "server.exited"
"""A server's process or its stream ended. Look at its stderr if it ended with a code other than 0."""
SERVER_FAILED: Final = "server.failed"
"""A server's process did not start, or its stream did not open. Check its command and environment, or its url."""
SERVER_FAILING: Final = "server.failing"
"""A server fails to start or to answer. See `handfast servers` for its last error."""
SERVER_OPEN: Final = "server.open"
"""A server failed so often that it is only tried now and then. Mend it; the next try that succeeds ends this."""
SERVER_PRINTED: Final = "server.printed"
"""A server printed text where its messages go. Nothing is lost by it; have the server print to stderr."""
SERVER_STARTED: Final = "server.started"
"""A server's process was started, or its stream opened. Nothing."""
SERVER_UP: Final = "server.up"
"""A server answers again. Nothing."""

# --- sessions --------------------------------------------------------------------------------------------------------

SESSION_ENDED: Final = "session.ended"
"""A call was cancelled because its session ended. Nothing; call again in a new session if it is still wanted."""
SESSION_EVICTED: Final = "session.evicted"
"""An idle session was closed to make room for another. End sessions that are not used, or raise their limit."""
SESSION_INITIALIZED: Final = _refusal("session.initialized")
"""A session was sent a second initialize. Open another session."""
SESSION_NO_ROOM: Final = _refusal("session.no_room")
"""A session was refused because too many are open. End sessions that are not used, or raise their limit."""
SESSION_STRANGER: Final = "session.stranger"
"""A session was used by another caller than the one that opened it. Find out who has its id."""
SESSION_UNKNOWN: Final = _refusal("session.unknown")
"""A session is not known or has ended. Send initialize to begin a new one."""

# --- settings --------------------------------------------------------------------------------------------------------

SETTINGS_CHANGED: Final = "settings.changed"
"""Changed settings took effect. Start again for the keys that `reason` names, if any."""
SETTINGS_REFUSED: Final = "settings.refused"
"""Changed settings are wrong, and the old ones stay. Run `handfast config check`."""

# --- tools written with the toolkit ----------------------------------------------------------------------------------

TOOL_HELP: Final = "tool.help"
"""A tool explained itself. Nothing."""
TOOL_RENAMED: Final = _refusal("tool.renamed")
"""A tool was called by an old name whose time is over. Use the new name."""

# --- upstream: what became of a forwarded call -----------------------------------------------------------------------

UPSTREAM_EXITED: Final = "upstream.exited"
"""The server's process ended before it answered. Start it again, and repeat the call if that is safe."""
UPSTREAM_FAILED: Final = "upstream.failed"
"""The server could not be reached or its answer could not be used. See `handfast servers` for its last error."""
UPSTREAM_TIMEOUT: Final = "upstream.timeout"
"""The server neither answered nor reported progress in time. Raise `limits.call_timeout_s` for slow tools."""
