"""`mcp`: the memory as an MCP server, and what goes into the configuration of its clients."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import msgspec
from msgspec import Struct

from ....errors import MissingExtraError, UnknownNameError
from ..frame.call import Invocation
from ..frame.command import Report
from ..frame.terminal import echo

_NAME = "remloom"


class McpClient(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A client: the `file` of its configuration, and the `table` that servers stand in there."""

    title: str
    file: str
    table: str
    format: str = "json"
    more: dict[str, str] = {}


@cache
def clients() -> dict[str, McpClient]:
    text = files("remloom.serve.mcp").joinpath("clients.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text), dict[str, McpClient])


def server_command(arguments: Sequence[str]) -> list[str]:
    """The command that starts the server, wherever it is called from."""
    # clients are often started with another PATH than that of a shell
    program = shutil.which(_NAME)
    command = [program] if program else [sys.executable, "-m", _NAME]
    return [*command, "mcp", *arguments]


def write_config(name: str, arguments: Sequence[str], environment: Mapping[str, str]) -> str:
    """Write what goes into a client's configuration.

    Args:
        arguments: of `remloom mcp`.
        environment: variables that the server is started with.
    """
    client = clients()[name]
    command = server_command(arguments)
    entry: dict[str, Any] = {**client.more, "command": command[0], "args": command[1:]}
    if environment:
        entry["env"] = dict(environment)
    if client.format == "toml":
        return _toml(client.table, entry)
    return json.dumps({client.table: {_NAME: entry}}, indent=2)


def _toml(table: str, entry: Mapping[str, Any]) -> str:
    lines = [f"[{table}.{_NAME}]"]
    for name, value in entry.items():
        if isinstance(value, Mapping):
            pairs = (f"{key} = {json.dumps(one)}" for key, one in value.items())
            lines.append(f"{name} = {{ {', '.join(pairs)} }}")
        else:
            # a text or a list of texts is written alike in both
            lines.append(f"{name} = {json.dumps(value)}")
    return "\n".join(lines)


def mcp(
    call: Invocation,
    *,
    tools: Literal["default", "all", "chatgpt"] = "default",
    read_only: bool = False,
    project: bool = False,
    print_config: str | None = None,
) -> Report | None:
    """Serve the memory to an agent over MCP, on standard input and output.

    The agent's client starts it; --print-config says how it is told to.

    Args:
        tools: which are offered: default (ten for agents), all (every operation) or chatgpt
            (search and fetch).
        read_only: only what reads can be called.
        project: the memory is that of the project in whose folder it is started.
        print_config: print what goes into the configuration of a client: claude-desktop, cursor, …
    """
    if print_config is not None:
        arguments = [] if tools == "default" else ["--tools", tools]
        arguments += ["--read-only"] * read_only + ["--project"] * project
        return _config(call, arguments, print_config)
    try:
        from ...mcp.stdio import serve_stdio
    except ModuleNotFoundError as error:
        raise MissingExtraError("the MCP server", "mcp") from error
    settings = call.settings()
    if project:
        call.refuse_tenant("--project")
        from ....hooks.project import find_project

        found = find_project(os.getcwd(), settings.hooks_projects)
        settings = msgspec.structs.replace(settings, tenant=found.tenant)
    serve_stdio(settings, tools, read_only=read_only)
    return None


def _config(call: Invocation, arguments: Sequence[str], name: str) -> Report:
    if name not in clients():
        raise UnknownNameError("client", name, [*clients()])
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
