"""Keys: the columns that tell the rows of a table apart; link tables, whose key is two others."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from msgspec.structs import replace

from ..plan.plan import free_name
from ..plan.planned import PlannedEdge, PlannedField, PlannedLink
from .facts import ColumnFacts, Proposal, ReadRows, TableFacts
from .name_matches import TableNames, align
from .plan_names import CONTAINS
from .words import likeness, snake, word_lists

_CERTAIN_ENOUGH = 0.5
_CERTAIN_BY_NAME = 0.6  # where no rows were read
_LONGEST = 64  # characters of a value of a key
_SHORT = 12
_MOST_FURTHER = 4  # columns besides the two foreign keys
# what a table of the parts of something is called by its last word
_PARTS_OF_THINGS = ("detail", "item", "line", "entry", "position", "row", "member", "content")
_NAMED = 0.7  # how surely a name speaks of another table


def propose_key(facts: TableFacts, index: TableNames) -> Proposal | None:
    """Propose the key of a table: the declared one, or a column that looks like one."""
    table = facts.table
    if table.primary_key:
        evidence = "the primary key that is declared"
        return Proposal(table.primary_key, evidence=evidence, declared=True)
    if table.unique:
        # the shortest that has no NULLs; an identifier before anything else
        columns = min(table.unique, key=lambda names: _unique_rank(facts, names))
        if not any(facts.column_of(name).column.nullable for name in columns):
            return Proposal(columns, 0.95, "a unique index, and never NULL", declared=True)
    rated = [
        (_rate(facts, column, position, index), -position, column)
        for position, column in enumerate(facts.columns.values())
    ]
    score, _, best = max(rated, key=lambda each: each[:2], default=(0.0, 0, None))
    enough = _CERTAIN_ENOUGH if facts.is_sampled else _CERTAIN_BY_NAME
    if best is None or score < enough:
        return None
    return Proposal((best.name,), round(min(score, 0.99), 2), _evidence(facts, best))


def propose_pair(
    facts: TableFacts, leading: Collection[str], read_rows: ReadRows
) -> Proposal | None:
    """Propose several columns as the key of a table that has no other: the fewest first of those
    that lead elsewhere (`leading`), and of further identifiers."""
    parts = [name for name in facts.columns if name in leading]
    identifiers = [
        name
        for name, column in facts.columns.items()
        if name not in leading and column.value_class and column.is_identifier
    ]
    if not parts or not facts.is_sampled:
        return None
    parts += identifiers
    for end in range(2, min(len(parts), 4) + 1):
        columns = tuple(parts[:end])
        rows = read_rows(facts, columns)
        is_unique = len(rows) > 1 and len(set(rows)) == len(rows)
        if is_unique and None not in set().union(*rows):
            evidence = f"no two of {facts.profile.sampled:,} rows have the same values in these"
            return Proposal(columns, 0.8, evidence)
    return None


def _unique_rank(facts: TableFacts, names: Sequence[str]) -> tuple[bool, int, bool]:
    columns = [facts.column_of(name) for name in names]
    nullable = any(column.column.nullable for column in columns)
    return nullable, len(columns), not columns[0].is_identifier


def _rate(facts: TableFacts, column: ColumnFacts, position: int, index: TableNames) -> float:
    if column.value_class is None or not _can_be_key(facts, column):
        return 0.0
    own = align(column.content, facts.words)
    is_natural = column.words[-1] in word_lists().natural
    is_whole = column.is_identifier and (is_natural or not column.content)
    score = 0.0
    if is_whole:
        # "id" rather than "code"
        score = 0.7 if set(column.words) & set(word_lists().opaque) else 0.55
    elif column.is_identifier:
        score = 0.25 + 0.4 * own
        # customer_type_id of customer_demographics
        score += 0.15 if column.content[:1] == facts.words[:1] else 0.0
    elif own == 1.0:
        score = 0.3
    score += 0.2 if position == 0 else 0.0
    is_short = 0 < column.profile.longest <= _SHORT
    score += 0.1 if column.value_class == "number" or is_short else 0.0
    if score >= _CERTAIN_ENOUGH and not is_whole and _names_other(facts, column, own, index):
        return 0.0
    return score


def _can_be_key(facts: TableFacts, column: ColumnFacts) -> bool:
    if not facts.is_sampled:
        return True
    return column.is_unique and column.profile.nulls == 0 and column.profile.longest <= _LONGEST


def _names_other(facts: TableFacts, column: ColumnFacts, own: float, index: TableNames) -> bool:
    for name in index.candidates(column.content):
        other = index.tables[name]
        named = align(column.content, other.words)
        if other is facts or named < _NAMED:
            continue
        if named > own or (named == own and column.words in _words_of_key(other)):
            return True
    return False


def _words_of_key(facts: TableFacts) -> list[tuple[str, ...]]:
    if len(facts.table.primary_key) != 1:
        return []
    return [facts.column_of(facts.table.primary_key[0]).words]


def _evidence(facts: TableFacts, column: ColumnFacts) -> str:
    if facts.is_sampled:
        return f"{column.filled:,} values, all different; none is NULL; by its name"
    return "by its name and place; no rows were read"


# -- link tables -----------------------------------------------------------------------------------


def find_links(
    tables: Mapping[str, TableFacts],
    keys: Mapping[str, Proposal],
    edges: Sequence[PlannedEdge],
    fields_of: Callable[[TableFacts, Sequence[str]], tuple[PlannedField, ...]],
) -> list[PlannedLink]:
    """Find the tables whose key is exactly two foreign keys, and that nothing refers to."""
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
    edges: Sequence[PlannedEdge], name: str, key: Proposal, keys: Mapping[str, Proposal]
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
    position = {edge: _position(link, tables[edge.target]) for edge in leading}
    return (second, first) if position[second] < position[first] else (first, second)


def _position(link: TableFacts, table: TableFacts) -> int:
    """The position of a table's words in the name of a link table; its end without them."""
    words, own = link.words, table.words
    for start in range(len(words)):
        if words[start : start + len(own)] == own:
            return start
    return len(words)


def _to_key(edge: PlannedEdge, key: Proposal) -> tuple[str, ...]:
    """The columns of a foreign key, in the order of the key that they lead to."""
    by_target = dict(zip(edge.target_columns, edge.columns, strict=True))
    return tuple(by_target[column] for column in key.columns)


def _name_of(link: TableFacts, owner: TableFacts, target: TableFacts) -> str:
    """`contains`, unless the table has a name of its own: an "enrollment"."""
    known = (*owner.words, *target.words, *_PARTS_OF_THINGS, *word_lists().little)
    own = [word for word in link.words if not any(likeness(word, other) for other in known)]
    return snake("_".join(link.words)) if own else CONTAINS


def _with_free_names(
    links: Sequence[PlannedLink], edges: Sequence[PlannedEdge]
) -> list[PlannedLink]:
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
