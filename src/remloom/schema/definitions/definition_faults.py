"""The faults of a definition or a taxonomy, each with its path and what would be right."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import asdict

from ... import labels
from ...errors import DefinitionError, InvalidInputError, LabelError
from ...model import Field, Row, SchemaDefinition, Taxonomy
from ...sql.columns import RENAMED
from ...store.rules.field_values import to_stored
from ...store.rules.json_values import compile_schema

MOST_FIELDS = 300
# names that statements use for something else, and those of the tables of a store
RESERVED_NAMES = frozenset({
    "resources", "entities", "moments", "records", "edges", "labels", "schemas", "rows",
    "dead", "degrees", "journal", "journal_subjects", "models", "name_pages", "name_runs", "names",
    "parents", "pending", "postings", "rels", "remloom", "runs", "secret", "sequence", "snapshots",
    "tenants", "token_failures", "token_models", "token_vectors", "vectors",
})  # fmt: skip
# a field may be called as the newest column of every record is: it came after such fields
RESERVED_FIELDS = frozenset({*Row.__struct_fields__, *RENAMED, "key", "tenant_id", "parents"}) - {
    "revision"
}
_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
_NAME_REMEDY = "names are small letters, digits and _, at most 63, and begin with a letter"
_MOST_VALUES = 1_000  # of an enum, and types that a schema names
_LONGEST_DEFAULT = 10_000  # characters
# kinds whose values make no label, or not the same one each time
_NO_LABEL = ("json", "float", "boolean")


class Fault(Struct, frozen=True):
    """Something in a definition or a plan that cannot be."""

    path: str  # "fields.total.default"
    why: str
    remedy: str = ""


def check_definition(definition: SchemaDefinition, faults: Sequence[Fault] = ()) -> None:
    """Refuse a definition that has faults: those found while it was read, and others."""
    found = [*faults, *find_faults(definition)]
    if found:
        raise DefinitionError(definition.schema_name, [asdict(fault) for fault in found])


def find_faults(definition: SchemaDefinition) -> Iterator[Fault]:
    yield from _name_faults(definition.schema_name)
    yield from _field_faults(definition)
    for part in ("handle", "name_fields"):
        yield from _label_faults(part, getattr(definition, part), definition.base_fields)
    for part in ("entity_types", "edge_types"):
        yield from _text_faults(part, getattr(definition, part))
    yield from _edge_faults(definition)
    if definition.metadata_schema:
        try:
            compile_schema(definition.metadata_schema)
        except InvalidInputError as error:
            yield Fault("metadata_schema", error.message, error.remedy)


def _name_faults(name: str) -> Iterator[Fault]:
    if name in RESERVED_NAMES:
        yield Fault("schema_name", f"{name!r} is Remloom's own", "call it otherwise: crm_records")
    elif not _NAME.fullmatch(name):
        yield Fault("schema_name", f"{name[:80]!r} is no name of a schema", _NAME_REMEDY)


def _field_faults(definition: SchemaDefinition) -> Iterator[Fault]:
    fields = definition.base_fields
    types = definition.entity_types
    entity_type = types[0] if types else definition.schema_name
    if len(fields) > MOST_FIELDS:
        why = f"a schema has at most {MOST_FIELDS} fields, this one has {len(fields):,}"
        yield Fault("fields", why, "keep what nobody asks for in one field of kind json")
    for name, field in fields.items():
        path = f"fields.{name[:80]}"
        if name in RESERVED_FIELDS:
            remedy = f"call it {entity_type}_{name}"
            if name == "name":
                remedy += ", or leave it out and say name_fields"
            yield Fault(path, "every row has something else of this name", remedy)
        elif not _NAME.fullmatch(name):
            yield Fault(path, "is no name of a field", _NAME_REMEDY)
        yield from _kind_faults(path, field)


def _kind_faults(path: str, field: Field) -> Iterator[Fault]:
    if field.kind == "enum":
        yield from _text_faults(f"{path}.values", field.values)
        if not field.values:
            yield Fault(f"{path}.values", "an enum has values", "enum(open, closed)")
    elif field.values:
        yield Fault(f"{path}.values", f"a {field.kind} has no list of values", "make it an enum")
    if (
        field.default is UNSET
        or field.default is None
        or (field.kind == "enum" and not field.values)
    ):
        return
    try:
        stored = to_stored(field.default, field)
    except InvalidInputError as error:
        yield Fault(f"{path}.default", error.message, f"give a {field}, or none")
        return
    if len(repr(stored)) > _LONGEST_DEFAULT:
        why = f"has more than {_LONGEST_DEFAULT:,} characters, in every row that does not say it"
        yield Fault(f"{path}.default", why, "give a shorter one, or none")


def _label_faults(part: str, names: Sequence[str], fields: dict[str, Field]) -> Iterator[Fault]:
    for position, name in enumerate(names):
        field = fields.get(name)
        if field is None:
            yield _no_field(f"{part}[{position}]", name, fields)
        elif field.list or field.kind in _NO_LABEL:
            remedy = "take a string, an integer, a date or an enum"
            yield Fault(f"{part}[{position}]", f"{name} is a {field}: that makes no label", remedy)


def can_be_values(texts: Sequence[str]) -> bool:
    """Whether an enum may have these values."""
    return not any(_text_faults("values", texts))


def _text_faults(part: str, texts: Sequence[str]) -> Iterator[Fault]:
    if len(texts) > _MOST_VALUES:
        why = f"has {len(texts):,} values; at most {_MOST_VALUES:,} may be listed"
        yield Fault(part, why, "make it a string, or a field of its own")
        return
    for position, text in enumerate(texts):
        try:
            labels.key(text)
        except LabelError as error:
            yield Fault(f"{part}[{position}]", error.message, "give it a name")
    for text in sorted(text for text, count in Counter(texts).items() if count > 1):
        yield Fault(part, f"{text!r} is there twice", "say it once")


def _edge_faults(definition: SchemaDefinition) -> Iterator[Fault]:
    if definition.edges and not definition.graph_enabled:
        yield Fault("edges", "its rows have no edges: graph_enabled is false", "say graph_enabled")
    for position, edge in enumerate(definition.edges):
        path = f"edges[{position}]"
        yield from _text_faults(f"{path}.name", [edge.name])
        for name in edge.fields:
            if name not in definition.base_fields:
                yield _no_field(f"{path}.fields", name, definition.base_fields)


def _no_field(path: str, name: str, fields: dict[str, Field]) -> Fault:
    known = ", ".join(list(fields)[:20]) or "none yet"
    return Fault(path, f"there is no field {name!r}", f"fields: {known}")


def check_taxonomy(taxonomy: Taxonomy) -> Taxonomy:
    """Return a taxonomy, if nothing in it is below itself or means itself."""
    try:
        taxonomy = msgspec.convert(msgspec.to_builtins(taxonomy), Taxonomy)
    except msgspec.ValidationError as error:
        raise InvalidInputError(
            f"a taxonomy has names for names: {error}",
            remedy='Taxonomy(parents={"customer": "party"})',
        ) from error
    found = [
        *_faults("parents", taxonomy.parents, "is a kind of itself"),
        *_faults("synonyms", taxonomy.synonyms, "means itself"),
    ]
    if found:
        raise DefinitionError("taxonomy", [asdict(fault) for fault in found])
    return taxonomy


def _faults(part: str, above: dict[str, str], circular: str) -> Iterator[Fault]:
    keys: dict[str, str] = {}
    for name, other in above.items():
        try:
            key, key_above = labels.key(name), labels.key(other)
        except LabelError as error:
            yield Fault(f"{part}.{name}", error.message, "give it a name")
            continue
        if keys.setdefault(key, key_above) != key_above:
            yield Fault(f"{part}.{name}", f"{name} is there twice", "say it once")
    for name in above:
        if _is_circular(name, keys):
            yield Fault(f"{part}.{name}", f"{name} {circular}", "leave one of the circle out")


def _is_circular(name: str, above: dict[str, str]) -> bool:
    try:
        start = key = labels.key(name)
    except LabelError:
        return False
    for _ in above:
        key = above.get(key, "")
        if key == start:
            return True
    return False
