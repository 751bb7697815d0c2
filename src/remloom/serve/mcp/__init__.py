"""The MCP server, over stdio and streamable HTTP: tools, resources and a prompt from the table of
operations.

Needs the extra `mcp`, and takes a moment to import: only who serves imports what is in here.
"""
