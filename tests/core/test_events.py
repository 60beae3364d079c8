"""The events that operators search for: exact names, exact strings, each registered once."""

import pytest

from handfast.core import events


@pytest.mark.requirement("D11")
def test_the_events_are_called_as_documented() -> None:
    named = {name: value for name, value in vars(events).items() if name.isupper()}
    assert (
        named
        == events.registered_events()
        == {
            "API_BOUNDARY_VALIDATION_FAILED": "api.boundary.validation_failed",
            "SECURITY_AUTH_FAILED": "security.auth.failed",
            "MCP_ADMIN_OP_EXECUTED": "mcp.admin.op_executed",
            "MCP_HANDLER_CAPABILITY_GAP": "mcp.handler.capability_gap",
            "MCP_HANDLER_ARGUMENT_INVALID": "mcp.handler.argument_invalid",
            "MCP_HANDLER_GUARDRAIL_VIOLATED": "mcp.handler.guardrail_violated",
            "MCP_HANDLER_INVOKE_FAILED": "mcp.handler.invoke_failed",
            "MCP_HANDLER_NOT_IMPLEMENTED": "mcp.handler.not_implemented",
            "MCP_HANDLER_SERVICE_FALLBACK": "mcp.handler.service_fallback",
            "MCP_SERVER_INVOKE_FAILED": "mcp.server.invoke.failed",
        }
    )


@pytest.mark.requirement("D11")
@pytest.mark.parametrize(
    ("name", "event"), [("SECURITY_AUTH_FAILED", "of.its.own"), ("OF_ITS_OWN", "security.auth.failed")]
)
def test_a_duplicate_registration_raises(name: str, event: str) -> None:
    before = events.registered_events()
    with pytest.raises(ValueError, match="registered already"):
        events.register_event(name, event)
    assert events.registered_events() == before
