"""The names of log events that operators search for, each registered once."""

_registered: dict[str, str] = {}


def register_event(name: str, event: str) -> str:
    """Registers an event under its constant's name, and returns the event.

    Raises:
        ValueError: the name or the event is taken.
    """
    if name in _registered or event in _registered.values():
        raise ValueError(f"The event {name} = '{event}' is registered already. Choose a name and an event of its own.")
    _registered[name] = event
    return event


def registered_events() -> dict[str, str]:
    """Every event by the name of its constant."""
    return dict(_registered)


API_BOUNDARY_VALIDATION_FAILED = register_event("API_BOUNDARY_VALIDATION_FAILED", "api.boundary.validation_failed")
SECURITY_AUTH_FAILED = register_event("SECURITY_AUTH_FAILED", "security.auth.failed")
MCP_ADMIN_OP_EXECUTED = register_event("MCP_ADMIN_OP_EXECUTED", "mcp.admin.op_executed")
MCP_HANDLER_CAPABILITY_GAP = register_event("MCP_HANDLER_CAPABILITY_GAP", "mcp.handler.capability_gap")
MCP_HANDLER_NOT_IMPLEMENTED = register_event("MCP_HANDLER_NOT_IMPLEMENTED", "mcp.handler.not_implemented")
MCP_HANDLER_SERVICE_FALLBACK = register_event("MCP_HANDLER_SERVICE_FALLBACK", "mcp.handler.service_fallback")
MCP_HANDLER_ARGUMENT_INVALID = register_event("MCP_HANDLER_ARGUMENT_INVALID", "mcp.handler.argument_invalid")
MCP_HANDLER_GUARDRAIL_VIOLATED = register_event("MCP_HANDLER_GUARDRAIL_VIOLATED", "mcp.handler.guardrail_violated")
MCP_HANDLER_INVOKE_FAILED = register_event("MCP_HANDLER_INVOKE_FAILED", "mcp.handler.invoke_failed")
MCP_SERVER_INVOKE_FAILED = register_event("MCP_SERVER_INVOKE_FAILED", "mcp.server.invoke.failed")
