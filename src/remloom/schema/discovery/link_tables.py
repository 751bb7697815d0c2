"""Link tables: those whose rows are nothing but edges between rows of two others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from ..plan.planned import PlannedEdge, PlannedField, PlannedLink
from .facts import TableFacts
from .keys import KeyProposal
from .plan_names import CONTAINS, free_name
from .words import likeness, snake, word_lists

_MOST_FURTHER = 4  # columns beside the two foreign keys
# what a table of the parts of something is called by its last word
_PARTS = ("detail", "item", "line", "entry", "position", "row", "member", "content")


def find_links(
    tables: Mapping[str, TableFacts],
    keys: Mapping[str, KeyProposal],
    edges: Sequence[PlannedEdge],
    fields_of: Callable[[TableFacts, Sequence[str]], tuple[PlannedField, ...]],
) -> list[PlannedLink]:
    """Find the tables whose key is exactly two foreign keys, and that nothing refers to.

    Args:
        fields_of: makes fields of these columns of a table.
    """
    links: list[PlannedLink] = []
    referred = {edge.target for edge in edges}
    for name, table in tables.items():
        key = keys.get(name)
        if key is None or name in referred:
            continue
        leading = _leading(edges, name, key, keys)
        further = [each for each in table.columns if each not in key.columns]
        leads_on = {column for edge in edges if edge.table == name for column in edge.columns}
        if len(leading) != 2 or len(further) > _MOST_FURTHER or leads_on & set(further):
            continue
        owner, target = _in_order(table, leading, tables)
        links.append(
            PlannedLink(
                table=name,
                owner=owner.target,
                owner_columns=_to_key(owner, keys[owner.target]),
                target=target.target,
                target_columns=_to_key(target, keys[target.target]),
                name=_name_of(table, tables[owner.target], tables[target.target]),
                fields=fields_of(table, further),
                evidence="its key is two foreign keys, and nothing refers to it",
            )
        )
    return _with_free_names(links, edges)


def _leading(
    edges: Sequence[PlannedEdge], name: str, key: KeyProposal, keys: Mapping[str, KeyProposal]
) -> list[PlannedEdge]:
    """The foreign keys that the key of a table consists of; none if it has other parts."""
    within = [
        edge
        for edge in edges
        if edge.table == name
        and set(edge.columns) <= set(key.columns)
        and edge.target in keys
        and set(edge.target_columns) == set(keys[edge.target].columns)
    ]
    within.sort(key=lambda edge: key.columns.index(edge.columns[0]))
    covered = [column for edge in within for column in edge.columns]
    return within if sorted(covered) == sorted(key.columns) else []


def _in_order(
    link: TableFacts, leading: Sequence[PlannedEdge], tables: Mapping[str, TableFacts]
) -> tuple[PlannedEdge, PlannedEdge]:
    """The owner's foreign key first: film_actor is of films, whatever its columns' order."""
    first, second = leading
    place = {edge: _place(link, tables[edge.target]) for edge in leading}
    return (second, first) if place[second] < place[first] else (first, second)


def _place(link: TableFacts, table: TableFacts) -> int:
    """Where the words of a table begin in the name of a link table; behind them all if nowhere."""
    words, own = link.words, table.words
    for start in range(len(words)):
        if words[start : start + len(own)] == own:
            return start
    return len(words)


def _to_key(edge: PlannedEdge, key: KeyProposal) -> tuple[str, ...]:
    """The columns of a foreign key, in the order of the key that they lead to."""
    by_target = dict(zip(edge.target_columns, edge.columns, strict=True))
    return tuple(by_target[column] for column in key.columns)


def _name_of(link: TableFacts, owner: TableFacts, target: TableFacts) -> str:
    """`contains`, unless the table has a name of its own: an "enrollment"."""
    known = (*owner.words, *target.words, *_PARTS, *word_lists().little)
    own = [word for word in link.words if not any(likeness(word, other) for other in known)]
    return snake("_".join(link.words)) if own else CONTAINS


def _with_free_names(
    links: Sequence[PlannedLink], edges: Sequence[PlannedEdge]
) -> list[PlannedLink]:
    """Edges from one table to another never share a name."""
    taken: dict[tuple[str, str], set[str]] = {}
    for edge in edges:
        taken.setdefault((edge.table, edge.target), set()).add(edge.name)
    named = []
    for link in links:
        used = taken.setdefault((link.owner, link.target), set())
        name = free_name(link.name, used)
        used.add(name)
        named.append(replace(link, name=name))
    return named
