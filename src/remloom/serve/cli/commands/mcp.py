"""`mcp`: the memory as an MCP server for an agent that starts it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal

from ....errors import MissingExtraError, UnknownNameError
from ..frame.call import Call
from ..frame.command import Report
from ..frame.terminal import echo

if TYPE_CHECKING:
    from ....operations import Toolset


def mcp(
    call: Call,
    *,
    tools: Literal["default", "all", "chatgpt"] = "default",
    read_only: bool = False,
    print_config: str | None = None,
) -> Report | None:
    """Serve the memory to an agent over MCP, on standard input and output.

    The agent's client starts it; --print-config says how it is told to.

    Args:
        tools: which are offered: default (eight for agents), all (every operation) or chatgpt
            (search and fetch).
        read_only: only what reads can be called.
        print_config: print what goes into the configuration of a client: claude-desktop, cursor, …
    """
    if print_config is not None:
        return _config(call, tools, read_only, print_config)
    try:
        from ...mcp.stdio import serve_stdio
    except ModuleNotFoundError as error:
        raise MissingExtraError("the MCP server", "mcp") from error
    serve_stdio(call.settings(), tools, read_only=read_only)
    return None


def _config(call: Call, toolset: Toolset, read_only: bool, name: str) -> Report:
    from ...mcp.clients import clients, write_config

    if name not in clients():
        raise UnknownNameError("client", name, [*clients()])
    arguments = [] if toolset == "default" else ["--tools", toolset]
    arguments += ["--read-only"] if read_only else []
    settings = call.settings()
    environment = {}
    # the client starts the server in a folder and with variables of its own
    if "://" not in settings.home:
        environment["REMLOOM_HOME"] = os.path.abspath(settings.home)
    elif call.home:
        # a URL of the environment may have a password: it is written only where it is asked for
        environment["REMLOOM_HOME"] = call.home
    if call.tenant or settings.tenant != "default":
        environment["REMLOOM_TENANT"] = settings.tenant
    config = write_config(name, arguments, environment)
    client = clients()[name]
    if not call.json:
        echo(f"# {client.title}: put this into {client.file}", err=True)
    return Report({"client": name, "file": client.file, "config": config}, config)
