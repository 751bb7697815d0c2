"""MCP's conformance suite, revision 2025-11-25."""

from .mcp_scenarios import run

__all__ = ["run"]
