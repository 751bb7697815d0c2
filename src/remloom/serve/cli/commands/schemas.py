"""`schemas` and `schema`: the schemas of a tenant's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from ....errors import InvalidInputError
from ..app import Call, command, program
from ..frame.text_formats import plural
from .reading import progress_bar

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ....model import Registered, SchemaDefinition


@command("schemas")
@click.argument("name", required=False)
def schemas(call: Call, name: str | None) -> None:
    """List the schemas that are registered, or the fields and edges of one."""
    with call.open() as memory:
        if name is None:
            counts = memory.admin.stats().records
            found = memory.schemas.list()
            shown = [_plain(one) for one in found]
            call.show(shown, lambda: _list(found, counts) if found else "no schemas")
            return
        definition = memory.schemas.get(name)
    call.show(_plain(definition), lambda: _fields(definition))


@command("register")
@click.argument("file", type=click.Path(dir_okay=False))
@click.option(
    "--mapping",
    "mappings",
    metavar="OLD=NEW",
    multiple=True,
    help="A field that is called otherwise now; OLD= if it goes.",
)
@click.option(
    "--entity",
    "entities",
    metavar="COLUMN=TYPE",
    multiple=True,
    help="What a column of a plan stands for: contacts.email=contact.",
)
def register(call: Call, file: str, mappings: tuple[str, ...], entities: tuple[str, ...]) -> None:
    """Register the schema of a TOML file, or all of a plan that `discover` made.

    The same again changes nothing. Makes the tenant if need be.
    """
    from ....schema.plan.plan import Plan

    with call.open(create=True) as memory:
        if _is_plan(file):
            if mappings:
                raise InvalidInputError("a plan takes no --mapping", remedy="edit the plan")
            done = memory.schemas.register_from_discovery(Plan.load(file), _pairs(entities))
        else:
            if entities:
                raise InvalidInputError("--entity is for plans", remedy="leave it out")
            mapping = {old: new or None for old, new in _pairs(mappings).items()}
            done = (memory.schemas.register(file, mapping=mapping),)
    call.show(msgspec.to_builtins(done), lambda: "\n".join(map(_registered, done)))


@program.group("schema")
def schema() -> None:
    """Change a schema that is registered."""


@command("drop", to=schema)
@click.argument("name")
@click.option("--rows", is_flag=True, help="Forget its rows, too.")
def drop(call: Call, name: str, rows: bool) -> None:
    """Remove a schema with all its versions; refused while it has rows, unless --rows."""
    with call.open() as memory:
        receipt = memory.schemas.drop(name, rows=rows)
    call.show(
        msgspec.to_builtins(receipt),
        lambda: f"dropped {name}, forgot {plural(receipt.records, 'row')}",
    )


@command("migrate", to=schema)
@click.argument("name")
def migrate(call: Call, name: str) -> None:
    """Write the rows of earlier versions anew, as the schema is today."""
    with call.open() as memory, progress_bar(call, "rows") as progress:
        done = memory.schemas.migrate(name, progress=progress)
    call.show(
        msgspec.to_builtins(done),
        lambda: f"{plural(done.rows, 'row')} of {name} are of version {done.version} now",
    )


def _is_plan(file: str) -> bool:
    """Whether a TOML file is a plan: it says which source it is of."""
    import tomllib

    try:
        return "source" in tomllib.loads(Path(file).read_text("utf-8"))
    except (OSError, ValueError):
        # whoever reads it says what is wrong with it
        return False


def _pairs(given: tuple[str, ...]) -> dict[str, str]:
    pairs = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not name or not equals:
            raise InvalidInputError(f"{one!r} is no pair", remedy="write NAME=VALUE")
        pairs[name.strip()] = value.strip()
    return pairs


def _registered(done: Registered) -> str:
    what = f"{done.schema_name}, version {done.version}"
    lines = [f"registered {what}" if done.changes else f"unchanged {what}"]
    return "\n".join([*lines, *(f"  note: {note}" for note in done.notes)])


def _plain(definition: SchemaDefinition) -> object:
    return msgspec.to_builtins(definition)


def _list(definitions: list[SchemaDefinition], counts: dict[str, int]) -> RenderableType:
    from ..views.tables import draw_table

    rows = [
        (
            one.schema_name,
            one.version,
            f"{counts.get(one.schema_name, 0):,}",
            len(one.base_fields),
            one.source,
            one.description,
        )
        for one in definitions
    ]
    columns = ("schema", "version", "rows", "fields", "source", "description")
    return draw_table(columns, rows, right=("version", "rows", "fields"))


def _fields(definition: SchemaDefinition) -> RenderableType:
    from rich.console import Group

    from ..views.tables import draw_table

    marks = ("required", "is_key", "searchable")
    fields = [
        (
            name,
            str(field),
            ", ".join(mark.removeprefix("is_") for mark in marks if getattr(field, mark)),
            field.personal,
            field.description,
        )
        for name, field in definition.base_fields.items()
    ]
    edges = [
        (edge.name, ", ".join(edge.fields), edge.target, edge.inverse) for edge in definition.edges
    ]
    parts: list[RenderableType] = [
        f"{definition.schema_name}, version {definition.version}",
        draw_table(("field", "type", "", "personal", "description"), fields),
    ]
    if edges:
        parts.append(draw_table(("edge", "by", "to", "back"), edges))
    return Group(*parts)
