"""`mcp`: the memory as an MCP server for an agent that starts it."""

from __future__ import annotations

import os
from typing import get_args

import click
from click import option

from ....errors import MissingExtraError, UnknownNameError
from ....operations import Toolset
from ..app import Call, command
from ..frame.terminal import echo


@command("mcp")
@option(
    "--tools",
    "toolset",
    type=click.Choice(get_args(Toolset)),
    default="default",
    help="default: eight for agents; all: every operation; chatgpt: search and fetch.",
)
@option("--read-only", is_flag=True, help="Only what reads can be called.")
@option(
    "--print-config",
    "client",
    metavar="CLIENT",
    help="Print what goes into the configuration of a client: claude-desktop, cursor, …",
)
def mcp(call: Call, toolset: Toolset, read_only: bool, client: str | None) -> None:
    """Serve the memory to an agent over MCP, on standard input and output.

    The agent's client starts it; --print-config says how it is told to.
    """
    if client is not None:
        _print_config(call, toolset, read_only, client)
        return
    try:
        from ...mcp.stdio import serve_stdio
    except ModuleNotFoundError as error:
        raise MissingExtraError("the MCP server", "mcp") from error
    serve_stdio(call.settings(), toolset, read_only=read_only)


def _print_config(call: Call, toolset: Toolset, read_only: bool, name: str) -> None:
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
    call.show({"client": name, "file": client.file, "config": config}, lambda: config)
    if not call.json:
        echo(f"# {client.title}: put this into {client.file}", err=True)
