"""`discover`, and `register` and `schemas`: databases that are already there, and schemas."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....errors import ConflictError, InvalidInputError
from ..frame.command import Report

if TYPE_CHECKING:
    from ....memory import Memory
    from ....model import Registered


def discover(
    url: str,
    *,
    output: str | None = None,
    name: str = "",
    tables: str | None = None,
    **options: Any,
) -> Report:
    """Look at a database, and propose schemas, names and edges. Nothing is written to it, nor to
    the memory.

    URL is postgresql://, mysql://, mongodb://, snowflake://, or the path of an SQLite or DuckDB
    file or of a folder of CSV and Parquet files.

    Args:
        output: write the plan here, to read and edit.
        name: what the source is called. [default: as the database]
        tables: only these, parted by commas. [default: all]
    """
    from ....schema.discovery.discovering import discover_at
    from ....settings import split_list
    from ..views.databases import draw_plan

    if output and Path(output).exists():
        raise ConflictError(
            f"{output} exists already", remedy="give another file; an edited plan is not replaced"
        )
    chosen = split_list(tables) if tables else None
    plan = discover_at(url, name, chosen, **options)
    if output:
        plan.save(output)
    return Report(plan, lambda: draw_plan(plan, output))


def register(
    memory: Memory, file: str, *, mappings: Sequence[str] = (), entities: Sequence[str] = ()
) -> tuple[Registered, ...]:
    """Register the schema of a TOML file, or all of a plan that `discover` made.

    The same again changes nothing. Makes the tenant if need be.

    Args:
        mappings: a field that is called otherwise now; OLD= if it goes.
        entities: what a column of a plan stands for: contacts.email=contact.
    """
    from ....schema.plan.plan import Plan

    if _is_plan(file):
        if mappings:
            raise InvalidInputError("a plan takes no --mapping", remedy="edit the plan")
        return memory.schemas.register_from_discovery(Plan.load(file), _pairs(entities))
    if entities:
        raise InvalidInputError("--entity is for plans", remedy="leave it out")
    mapping = {old: new or None for old, new in _pairs(mappings).items()}
    return (memory.schemas.register(file, mapping=mapping),)


def schemas(memory: Memory, name: str | None = None) -> Report:
    """List the schemas that are registered, or the fields and edges of one."""
    from ..views.databases import draw_fields, draw_schemas

    if name is not None:
        definition = memory.schemas.get(name)
        return Report(definition, lambda: draw_fields(definition))
    counts = memory.admin.stats().records
    found = memory.schemas.list()
    return Report(found, lambda: draw_schemas(found, counts))


def _is_plan(file: str) -> bool:
    import tomllib

    try:
        return "source" in tomllib.loads(Path(file).read_text("utf-8"))
    except (OSError, ValueError):
        # whoever reads it says what is wrong with it
        return False


def _pairs(words: Sequence[str]) -> dict[str, str]:
    pairs = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not name or not equals:
            raise InvalidInputError(f"{word!r} is no pair", remedy="write NAME=VALUE")
        pairs[name.strip()] = value.strip()
    return pairs
