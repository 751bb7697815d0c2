"""The tools that are made for agents: few, with flat values and a text beside them.

Each is an `Operation` like those of `methods`, with arguments and values of its own: a model reads
them, so they are small, every hit says where it is from and how far it is to be trusted, and what
was remembered stands in quotes. Over MCP they are the default; over HTTP, `POST /v1/tools/<name>`.
"""

from .toolset import TOOLS, Toolset, choose_tools

__all__ = ["TOOLS", "Toolset", "choose_tools"]
