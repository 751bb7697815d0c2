"""The tools that are made for agents: few, with flat values and a text beside them.

Each is an `Operation` like those of `methods`, with arguments and values of its own: a model reads
them, so they are small, every hit says where it is from and how far it is to be trusted, and what
was remembered stands in quotes. Over MCP they are the default; over HTTP, `POST /v1/tools/<name>`.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from ..operation import Operation
from .connector import FETCH, SEARCH
from .forget import FORGET
from .lookup import LOOKUP, SHOW
from .query import QUERY
from .recall import ASK, RECALL
from .relate import RELATE
from .remember import REMEMBER
from .stale import CONFIRM, REFRESH
from .timeline import TIMELINE

# what another tool does as well, and what takes a value that no agent makes
_SPARED = frozenset({
    "create_edge", "create_entity", "create_moment", "create_resource", "create_row",
    "identify_rows", "migrate_schema", "reader_keep", "register_schema", "set_taxonomy",
    "unreplace",
})  # fmt: skip
# chatgpt: the two tools that its connectors know
Toolset: TypeAlias = Literal["default", "all", "chatgpt"]

TOOLS: tuple[Operation, ...] = (
    RECALL, REMEMBER, LOOKUP, QUERY, SHOW, RELATE, CONFIRM, REFRESH, FORGET, TIMELINE, ASK, SEARCH,
    FETCH,
)  # fmt: skip


def choose_tools(toolset: Toolset = "default", *, has_model: bool = False) -> dict[str, Operation]:
    """Choose the tools of a set, by their names.

    "all" has the other operations too, where no tool has their name, but not those that write one
    record, which `write` does; what has to be asked of a language model is in no set but where
    there is one.
    """
    if toolset == "chatgpt":
        return {tool.name: tool for tool in (SEARCH, FETCH)}
    chosen = {tool.name: tool for tool in TOOLS if tool.is_default}
    if toolset == "all":
        from ..table import OPERATIONS

        # a tool has no stream of bytes beside its values
        others = {
            one.name: one for one in OPERATIONS if not one.carries and one.name not in _SPARED
        }
        chosen = others | chosen
    if not has_model:
        chosen.pop(ASK.name, None)
    return chosen
