"""MCP's conformance suite, revision 2026-07-28."""

from .mcp_scenarios import run

__all__ = ["run"]
