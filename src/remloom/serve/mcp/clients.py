"""Clients of MCP: what goes into the configuration of each, so that it starts the server."""

from __future__ import annotations

import json
import shutil
import sys
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec
from msgspec import Struct

_NAME = "remloom"


class Client(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A client: the `file` of its configuration, and the `table` that servers stand in there."""

    title: str
    file: str
    table: str
    format: str = "json"
    more: dict[str, str] = {}


@cache
def clients() -> dict[str, Client]:
    """Give the clients that are known, by name."""
    text = files(__package__).joinpath("clients.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text), dict[str, Client])


def write_config(name: str, arguments: Sequence[str], environment: Mapping[str, str]) -> str:
    """Write what goes into a client's configuration.

    Args:
        arguments: of `remloom mcp`.
        environment: variables that the server is started with.
    """
    client = clients()[name]
    # clients are often started with another PATH than that of a shell
    program = shutil.which(_NAME)
    command = [program] if program else [sys.executable, "-m", _NAME]
    entry: dict[str, Any] = {
        **client.more,
        "command": command[0],
        "args": [*command[1:], "mcp", *arguments],
    }
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
