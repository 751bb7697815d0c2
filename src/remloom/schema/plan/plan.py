"""A plan: what discovery proposes of a database, to be edited before anything is written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import count
from pathlib import Path

from msgspec.structs import asdict, replace

from ...errors import InvalidInputError, PlanError, UnknownNameError
from ...model import EdgeDefinition, SchemaDefinition
from ..definitions.definition_faults import find_faults
from .planned import PlanContents, PlannedEdge, PlannedField, PlannedLink, PlannedTable


class Plan(PlanContents, frozen=True, kw_only=True, omit_defaults=True):
    """The tables of a database that discovery proposes to take, and what becomes of them."""

    @property
    def names(self) -> dict[str, str]:
        """Table -> column of the human name; several columns are joined by ", "."""
        return {table.table: ", ".join(table.name) for table in self.tables if table.name}

    @property
    def schemas(self) -> tuple[SchemaDefinition, ...]:
        """The definitions that registering the plan registers."""
        return tuple(self._schema_of(table) for table in self.tables)

    def mapped(self, entity_mapping: Mapping[str, str]) -> Plan:
        """Copy the plan with what columns stand for: {"contacts.email": "contact"}.

        A column that tells the rows of its table apart, or names them, says what these rows are; by
        its values they are looked up. Any other leads to something of that type.

        Raises:
            UnknownNameError: there is no such table or column.
        """
        plan = self
        for path, entity_type in entity_mapping.items():
            plan = plan._mapped(path, entity_type)
        return plan

    def save(self, path: Path | str) -> Path:
        """Write the plan as TOML for a person to read and edit, with the evidence as comments."""
        from .plan_file import write_plan

        write_plan(self, Path(path))
        return Path(path)

    @classmethod
    def load(cls, path: Path | str) -> Plan:
        """Read a plan that was saved, and perhaps edited.

        Raises:
            PlanError: names every fault with its place.
            SourceError: there is no such file.
        """
        from .plan_file import read_plan

        plan = cls(**asdict(read_plan(Path(path))))
        faults = [
            {"path": f"tables.{table.table}.{fault.path}", "why": f"{fault.why}; {fault.remedy}"}
            for table, schema in zip(plan.tables, plan.schemas, strict=True)
            for fault in find_faults(schema)
        ]
        if faults:
            raise PlanError(str(path), faults)
        return plan

    def table_of(self, name: str) -> PlannedTable | None:
        """Find a table by its name, whatever its case."""
        return next((each for each in self.tables if each.table.lower() == name.lower()), None)

    def _schema_of(self, table: PlannedTable) -> SchemaDefinition:
        by_column = {field.column: field.name for field in table.fields}
        links = {link.table for link in self.links}
        edges = [
            self._edge_definition(
                edge, tuple(by_column[column] for column in edge.columns if column in by_column)
            )
            for edge in self.edges
            if edge.table == table.table and edge.table not in links
        ]
        edges += [
            self._edge_definition(link, ()) for link in self.links if link.owner == table.table
        ]
        return SchemaDefinition(
            schema_name=table.schema_name,
            description=table.description,
            base_fields={field.name: field.field for field in table.fields},
            entity_types=(table.entity_type,),
            edge_types=tuple(dict.fromkeys(edge.name for edge in edges)),
            handle=tuple(by_column[column] for column in table.key if column in by_column),
            name_fields=tuple(by_column[column] for column in table.name if column in by_column),
            edges=tuple(edges),
            source=self.source,
        )

    def _edge_definition(
        self, edge: PlannedEdge | PlannedLink, fields: tuple[str, ...]
    ) -> EdgeDefinition:
        target = self.table_of(edge.target)
        other = edge.entity_type if isinstance(edge, PlannedEdge) else ""
        return EdgeDefinition(
            name=edge.name,
            fields=fields,
            target=target.schema_name if target else "",
            entity_type=target.entity_type if target else other,
            inverse=edge.inverse,
        )

    def _mapped(self, path: str, entity_type: str) -> Plan:
        table, field = self._at(path)
        if not entity_type.strip():
            raise InvalidInputError(f"{path} is mapped to no type", remedy="name one: contact")
        leads = (table.table, (field.column,))
        for edge in self.edges:
            if (edge.table, edge.columns) == leads:
                return self._led_to(edge, entity_type)
        if field.is_unique or field.column in (*table.key, *table.name):
            return self._identified(table, field, entity_type)
        made = PlannedEdge(
            table=table.table,
            columns=(field.column,),
            entity_type=entity_type,
            name=free_name(entity_type, [e.name for e in self.edges if e.table == table.table]),
            evidence="as it is mapped",
        )
        return replace(self, edges=(*self.edges, made))

    def _at(self, path: str) -> tuple[PlannedTable, PlannedField]:
        """Find a table and a column of it; both may have dots in their names."""
        paths = {
            f"{table.table}.{field.column}": (table, field)
            for table in self.tables
            for field in table.fields
        }
        by_lower = {name.lower(): found for name, found in paths.items()}
        found = paths.get(path) or by_lower.get(path.lower())
        if found is None:
            raise UnknownNameError("column", path, list(paths))
        return found

    def _led_to(self, edge: PlannedEdge, entity_type: str) -> Plan:
        """The plan with the target of the edge being of this type."""
        target = self.table_of(edge.target)
        if target is not None:
            return self._with_table(replace(target, entity_type=entity_type))
        edges = tuple(
            replace(each, entity_type=entity_type) if each is edge else each for each in self.edges
        )
        return replace(self, edges=edges)

    def _identified(self, table: PlannedTable, field: PlannedField, entity_type: str) -> Plan:
        """The plan with the rows of the table being of this type, and found by the field."""
        made = replace(field, field=replace(field.field, is_key=field.column not in table.key))
        fields = tuple(made if each is field else each for each in table.fields)
        return self._with_table(replace(table, entity_type=entity_type, fields=fields))

    def _with_table(self, table: PlannedTable) -> Plan:
        tables = tuple(table if each.table == table.table else each for each in self.tables)
        return replace(self, tables=tables)


def free_name(name: str, taken: Iterable[str]) -> str:
    """Give the name, or the first with a number behind it that is not taken.

    >>> free_name("contains", ["contains", "contains_2"])
    'contains_3'
    """
    used = set(taken)
    if name not in used:
        return name
    return next(f"{name}_{number}" for number in count(2) if f"{name}_{number}" not in used)
