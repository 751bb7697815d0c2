"""The tool `show`: all that is known of one thing."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from ...memory.memory import Memory
from ...text.quoting import one_line
from ..operation import Hints, Operation, Progress, Route
from .arguments import Label
from .passage import Passage, quote_all
from .relation import Relation

_MOST_EDGES = 30  # of each direction, the newest


class ShowTakes(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of `show`."""

    what: Annotated[Label, Meta(description="a name or id")]


class Shown(Struct, frozen=True, kw_only=True):
    """A thing with its edges, what it was derived from, and what was derived from it.

    Attributes:
        sources: where what it rests on was read, with lines.
        parents, children: ids.
        edge_counts: of each type, there may be more than are shown.
    """

    records: list[Passage]
    edges_out: list[Relation]
    edges_in: list[Relation]
    sources: list[str]
    parents: list[str]
    children: list[str]
    edge_counts: dict[str, int]


def _show(memory: Memory, values: ShowTakes, progress: Progress | None) -> Shown:
    view = memory.admin.describe(values.what)
    described = view.records
    return Shown(
        records=[Passage.of(one.record) for one in described],
        edges_out=[Relation.of(edge) for edge in view.edges_out[:_MOST_EDGES]],
        edges_in=[Relation.of(edge) for edge in view.edges_in[:_MOST_EDGES]],
        sources=[source for one in described for source in one.sources or ()],
        parents=[id for one in described for id in one.parents],
        children=[id for one in described for id in one.children],
        edge_counts={f"{one.rel_type} {one.direction}": one.count for one in view.edge_counts},
    )


def _text(value: Shown) -> str:
    lines = [quote_all(value.records).rstrip("\n")]
    edges = [*value.edges_out, *value.edges_in]
    lines += ["edges:", *(f"> {edge}" for edge in edges)] if edges else []
    for title, ids in (
        ("derived from", value.sources or value.parents),
        ("made of it", value.children),
    ):
        if ids:
            lines.append(f"{title}:\n> {', '.join(map(one_line, ids))}")
    return "\n".join(lines)


SHOW = Operation(
    name="show",
    takes=ShowTakes,
    gives=Shown,
    does=_show,
    scope="read",
    hints=Hints(read_only=True, idempotent=True),
    description=(
        "Show all that is known of one thing: its records, edges in and out, and what it rests on, "
        "back to the lines that were read."
    ),
    route=Route("POST", "/v1/tools/show"),
    is_default=True,
    aliases={"id": "what", "label": "what", "name": "what"},
    text=_text,
)
