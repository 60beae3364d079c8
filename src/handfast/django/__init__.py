"""The Django adapter: turns what a REST framework API serves over HTTP into tools that lose nothing silently."""

from handfast.django.decorators import mcp_tool

__all__ = ["mcp_tool"]
