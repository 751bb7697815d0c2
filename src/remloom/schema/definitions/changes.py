"""What a definition changes of the one before: what is free, and what breaks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from msgspec import UNSET, Struct
from msgspec.structs import asdict

from ...errors import InvalidInputError, SchemaChangeError
from ...kv import EntryReads
from ...model import Field, Row, SchemaDefinition
from ...predicates import Gt, Query
from ...store.contract import Reads
from ...store.definitions import earlier_definitions
from ...store.rules.field_values import convert_value, to_stored
from ...store.rules.json_values import compile_schema

# name of a field before -> its name now, None (it goes), or its kind now; of a part -> None
FieldMapping: TypeAlias = Mapping[str, str | None]

# what may change if the mapping names it
_PARTS = ("entity_types", "edge_types", "graph_enabled", "handle")

_PAGE = 500  # rows
_SHOWN = 3  # rows that a conversion is refused for

# kind -> kinds that take every value of it, and give statements what they expect
_WIDER = {
    "integer": ("float", "decimal", "json"),
    "float": ("decimal", "json"),
    "date": ("datetime",),
    "enum": ("string", "json"),
    "string": ("json",),
    "boolean": ("json",),
}


class Break(Struct, frozen=True):
    """Something that rows or statements of before rest on."""

    path: str  # "fields.total"
    why: str


class Changes(Struct, frozen=True):
    """What a definition changes.

    Attributes:
        reported: each change in words.
        breaks: those that are not allowed as they are.
        renamed: earlier name of a field -> its name now, those of before included.
        converted: fields whose stored values have to fit another kind, or to be there.
        rewrites: whether rows of before have another form.
    """

    reported: tuple[str, ...] = ()
    breaks: tuple[Break, ...] = ()
    renamed: dict[str, str] = {}
    converted: tuple[str, ...] = ()
    rewrites: bool = False


def compare(before: SchemaDefinition, now: SchemaDefinition, mapping: FieldMapping) -> Changes:
    """Compare a definition with the one that it is to follow."""
    return _Comparison(before, now, mapping).changes()


class _Comparison:
    def __init__(
        self, before: SchemaDefinition, now: SchemaDefinition, mapping: FieldMapping
    ) -> None:
        self._before, self._now = before, now
        self._old, self._new = before.base_fields, now.base_fields
        self._mapping = mapping
        self._reported: list[str] = []
        self._breaks: list[Break] = []
        self._converted: list[str] = []
        self._rewrites = False
        self._renames = {
            name: target
            for name, target in mapping.items()
            if target is not None and name in self._old and name not in self._new
        }

    def changes(self) -> Changes:
        self._check_mapping()
        for name, field in self._old.items():
            self._compare_field(name, field)
        renamed = self._all_renamed()
        came = {*self._new} - {*self._old} - {*self._renames.values()}
        for name in self._new:
            if name in came:
                self._add_field(name, self._new[name])
            if name in renamed:
                why = f"is what {renamed[name]} was called before: statements may say it still"
                self._break(f"fields.{name}", why)
        self._compare_parts()
        return Changes(
            tuple(self._reported),
            tuple(self._breaks),
            renamed,
            tuple(self._converted),
            self._rewrites,
        )

    def _break(self, path: str, why: str) -> None:
        self._breaks.append(Break(path, why))

    def _break_part(self, part: str, why: str) -> None:
        if part in self._mapping:
            self._reported.append(f"{part} changed")
        else:
            self._break(part, why)

    def _check_mapping(self) -> None:
        targets = list(self._renames.values())
        for name, target in self._mapping.items():
            path = f"mapping.{name}"
            if name in _PARTS and target is None:
                continue
            if name in self._renames:
                if target not in self._new:
                    self._break(path, f"there is no field {target!r} now")
                elif target in self._old:
                    self._break(path, f"{target} was a field of its own before")
                elif targets.count(str(target)) > 1:
                    self._break(path, f"{target} cannot be two fields of before")
            elif name not in self._new and name not in self._old:
                self._break(path, f"there was no field {name!r}")
            elif name in self._new and not self._says_kind(name, target):
                self._break(path, f"{name} is {self._new[name]} now, not {target!r}")

    def _says_kind(self, name: str, target: str | None) -> bool:
        try:
            return target is not None and str(Field.parse(target)) == str(self._new[name])
        except InvalidInputError:
            return False

    def _all_renamed(self) -> dict[str, str]:
        earlier = {
            name: self._renames.get(target, target) for name, target in self._before.renamed.items()
        }
        return {
            name: target
            for name, target in {**earlier, **self._renames}.items()
            if target in self._new and name != target
        }

    # -- fields ------------------------------------------------------------------------------------

    def _compare_field(self, name: str, field: Field) -> None:
        name_now = self._renames.get(name, name)
        now = self._new.get(name_now)
        if now is None:
            if name not in self._renames:
                self._remove(name)
            return
        if name_now != name:
            self._reported.append(f"field {name} is called {name_now}")
            self._rewrites = True
        self._compare_kind(name_now, field, now)
        self._compare_presence(name_now, field, now)
        reported = [
            part
            for part in ("description", "is_key", "searchable", "personal", "default")
            if getattr(field, part) != getattr(now, part)
        ]
        if reported:
            self._reported.append(f"field {name_now}: {', '.join(reported)}")
        # rows are found by it once they are rewritten
        self._rewrites |= bool({"is_key", "searchable", "default"}.intersection(reported))

    def _remove(self, name: str) -> None:
        if name not in self._mapping:
            self._break(f"fields.{name}", "is gone, or has another name")
        self._reported.append(f"field {name} is gone")
        self._rewrites = True

    def _add_field(self, name: str, field: Field) -> None:
        if field.required and field.default is UNSET:
            self._break(f"fields.{name}", "is required, and rows of before do not have it")
        self._rewrites |= field.default is not UNSET
        self._reported.append(f"field {name} came")

    def _compare_kind(self, name: str, before: Field, now: Field) -> None:
        gone = [value for value in before.values if value not in now.values]
        if before.kind == now.kind and before.list == now.list and not gone:
            if added := [value for value in now.values if value not in before.values]:
                self._reported.append(f"field {name} may be {', '.join(added)}")
            return
        self._reported.append(f"field {name} is {now}, and was {before}")
        self._rewrites |= not (now.kind == "string" and before.kind == "enum")
        if now.list == before.list and now.kind in _WIDER.get(before.kind, ()):
            return
        self._converted.append(name)
        if name not in self._mapping:
            self._break(f"fields.{name}", f"was {before}, and is {now}: not every value fits")

    def _compare_presence(self, name: str, before: Field, now: Field) -> None:
        if now.required and not before.required and now.default is UNSET:
            self._reported.append(f"field {name} is required")
            self._converted.append(name)
            if name not in self._mapping:
                self._break(f"fields.{name}", "is required now, and was not")
        elif before.required and not now.required:
            self._reported.append(f"field {name} is not required any more")

    # -- other parts -------------------------------------------------------------------------------

    def _compare_parts(self) -> None:
        before, now = self._before, self._now
        for part in ("description", "name_fields", "edges", "source"):
            if getattr(before, part) != getattr(now, part):
                self._reported.append(f"{part} changed")
        for part in ("entity_types", "edge_types"):
            self._compare_types(part, getattr(before, part), getattr(now, part))
        if before.metadata_schema != now.metadata_schema:
            self._reported.append("metadata_schema changed")
        if before.graph_enabled and not now.graph_enabled:
            self._break_part("graph_enabled", "its rows have edges")
        elif before.graph_enabled != now.graph_enabled:
            self._reported.append("its rows have edges")
        handle = tuple(self._renames.get(name, name) for name in before.handle)
        if handle != now.handle:
            self._break_part("handle", "rows of before would get other handles")

    def _compare_types(self, part: str, before: tuple[str, ...], now: tuple[str, ...]) -> None:
        if added := [name for name in now if name not in before]:
            self._reported.append(f"{part}: {', '.join(added)} came")
        if gone := [name for name in before if now and name not in now]:
            self._break_part(part, f"{', '.join(gone)} went")
        elif now and not before:
            self._break_part(part, "any were allowed before")
        elif part == "entity_types" and before[:1] != now[:1] and not gone:
            self._break_part(
                part, f"rows without a type were {before[0]!r} before: it stays the first"
            )
        elif before and not now:
            self._reported.append(f"{part}: any")


# -- stored rows -----------------------------------------------------------------------------------


def rows_of(reads: Reads, schema: str, query: Query | None = None) -> Iterator[Row]:
    """Yield the rows of a schema, in the order of their ids, some at a time."""
    last = ""
    query = (query or Query()).order_by("id").limit(_PAGE)
    while rows := reads.records.query(schema, query.filter(Gt("id", last)) if last else query):
        # records of a registered schema are rows
        yield from rows  # type: ignore[misc]
        last = rows[-1].id


def check_changes(
    reads: Reads, before: SchemaDefinition, now: SchemaDefinition, mapping: FieldMapping
) -> Changes:
    """Compare a definition with the one before and the stored rows; raises SchemaChangeError."""
    changes = compare(before, now, mapping)
    breaks = [*changes.breaks, *_reused(reads.kv, before, now)]
    if not breaks:
        breaks += _unfit_rows(reads, before, now, changes)
    if breaks:
        has_rows = bool(reads.records.query(before.schema_name, Query().limit(1)))
        remedy = "" if has_rows else f"it has no rows: schemas.drop({now.schema_name!r}) first"
        reported = [asdict(broken) for broken in breaks]
        raise SchemaChangeError(now.schema_name, reported, remedy=remedy)
    return changes


def _reused(kv: EntryReads, before: SchemaDefinition, now: SchemaDefinition) -> Iterator[Break]:
    """Yield the fields that rows of an earlier form still have under names that come again."""
    came = now.base_fields.keys() - before.base_fields.keys() - before.renamed.keys()
    if not came or before.rows_since == before.version:
        return
    for earlier in earlier_definitions(kv, before.schema_name):
        if earlier.version < before.rows_since:
            continue
        for name in sorted(came & earlier.base_fields.keys()):
            why = f"version {earlier.version} had another: "
            yield Break(f"fields.{name}", f"{why}schemas.migrate({now.schema_name!r}) first")


def _unfit_rows(
    reads: Reads, before: SchemaDefinition, now: SchemaDefinition, changes: Changes
) -> list[Break]:
    """List what of the stored rows cannot be as the definition asks."""
    schema = now.metadata_schema if now.metadata_schema != before.metadata_schema else {}
    if not changes.converted and not schema:
        return []
    metadata = compile_schema(schema) if schema else None
    names = {new: old for old, new in changes.renamed.items() if old in before.base_fields}
    unfit: list[Break] = []
    for row in rows_of(reads, before.schema_name):
        if metadata is not None and not metadata.is_valid(row.metadata):
            unfit.append(Break("metadata_schema", f"{row.handle!r} is not so"))
        misfits = (
            (name, _misfit(row, names.get(name, name), name, before, now))
            for name in changes.converted
        )
        unfit += [Break(f"fields.{name}", why) for name, why in misfits if why]
        if len(unfit) >= _SHOWN:
            break
    return unfit


def _misfit(
    row: Row, name: str, name_now: str, before: SchemaDefinition, now: SchemaDefinition
) -> str:
    """Say why a row cannot have a field as it is to be; "" if it can."""
    field = now.base_fields[name_now]
    value = row.fields.get(name)
    if value is None:
        is_missing = field.required and field.default is UNSET
        return f"{row.handle!r} has none" if is_missing else ""
    try:
        convert_value(to_stored(value, before.base_fields[name]), field)
    except InvalidInputError as error:
        return f"of {row.handle!r} {error.message}"
    return ""
