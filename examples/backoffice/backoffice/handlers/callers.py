"""Who calls, for what must be put down to somebody."""

from handfast.toolkit import Call, ErrorCode, ToolError, actor_id


def known_caller(call: Call) -> str:
    """Raises: ToolError, when nobody was authenticated."""
    caller = actor_id(call.actor)
    if caller is None:
        message = "This tool needs a caller who is known. Authenticate (over stdio: HANDFAST_ACTOR) and call again."
        raise ToolError(ErrorCode.PERMISSION_ERROR, message)
    return caller
