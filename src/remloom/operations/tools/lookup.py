"""The tool `lookup`: what has a name."""

from __future__ import annotations

from msgspec import Struct

from ...memory.memory import Memory
from ...text.quoting import one_line, quoted
from ..operation import Hints, Operation, Progress, Route, names_few
from .arguments import Labels
from .passage import Passage, meanings_text, quote_all


class LookupTakes(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of `lookup`."""

    labels: Labels


class Found(Struct, frozen=True, kw_only=True):
    """The records of these names, names that mean nothing, and for those the nearest.

    Attributes:
        meanings: of each name that means several things, what tells each from the others.
    """

    records: list[Passage]
    missing: list[str]
    suggestions: list[str]
    meanings: dict[str, list[str]] = {}


def _lookup(memory: Memory, values: LookupTakes, progress: Progress | None) -> Found:
    answer = memory.lookup(*values.labels)
    return Found(
        records=[Passage.of_hit(hit) for hit in answer.records],
        missing=list(answer.metadata.get("missing", ())),
        suggestions=list(dict.fromkeys(hit.name for hit in answer.suggestions)),
        meanings={key: list(map(str, some)) for key, some in answer.meanings.items()},
    )


def _text(value: Found) -> str:
    lines = [quote_all(value.records)]
    for key, some in value.meanings.items():
        lines.append(meanings_text(key, some))
    if value.missing:
        lines.append(f"Not known: {', '.join(map(quoted, value.missing))}")
    if value.suggestions:
        lines.append(f"Names like it:\n> {', '.join(map(one_line, value.suggestions))}")
    return "\n".join(line for line in lines if line) or "Nothing has this name."


LOOKUP = Operation(
    name="lookup",
    takes=LookupTakes,
    gives=Found,
    does=_lookup,
    scope="read",
    hints=Hints(read_only=True, idempotent=True),
    description=(
        "Look up people, projects, places, documents by name or id. When a name is not known, "
        "gives the nearest."
    ),
    route=Route("POST", "/v1/tools/lookup"),
    is_default=True,
    is_short=names_few,
    aliases={"label": "labels", "name": "labels", "names": "labels", "key": "labels"},
    text=_text,
)
