"""The calls of seed design 5, word for word: `schema_registry` and `ontology_discovery`.

They open the tenant that they name, in the home that the settings name, and close it again. Whoever
has a `Memory` open says the same by `memory.schemas`.

Source: seed design 5, "Future: Schema Registry and Ontology Discovery".
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from .errors import InvalidInputError
from .memory import Memory
from .model import Registered

if TYPE_CHECKING:
    from .schema.plan.plan import Plan


# address of what was discovered -> the same with its password, which a plan does not have
_addresses: dict[str, str] = {}


class SchemaRegistry:
    """Registers schemas of tenants, in the home that is given or set."""

    def __init__(self, home_or_url: str | os.PathLike[str] | None = None) -> None:
        self._home = home_or_url

    def register(
        self,
        *,
        tenant_id: str,
        schema_name: str,
        fields: Mapping[str, Any] | None = None,
        entity_types: Sequence[str] = (),
        graph_enabled: bool = True,
        discovered_schema: Plan | None = None,
        entity_mapping: Mapping[str, str] | None = None,
    ) -> tuple[Registered, ...]:
        """Register one schema by its fields, or those that were discovered, under one name.

        Raises:
            InvalidInputError: neither `fields` nor `discovered_schema` is given, or both are.
            DefinitionError, SchemaChangeError: see `memory.schemas.register`.
        """
        if (fields is None) == (discovered_schema is None):
            raise InvalidInputError(
                "a schema is registered by its fields, or as it was discovered",
                remedy="give either fields or discovered_schema",
            )
        if discovered_schema is not None:
            return self.register_from_discovery(
                tenant_id=tenant_id,
                discovered_schema=replace(discovered_schema, source=schema_name),
                entity_mapping=entity_mapping,
            )
        with self._opened(tenant_id) as memory:
            registered = memory.schemas.register(
                schema_name=schema_name,
                fields=fields or {},
                entity_types=tuple(entity_types),
                graph_enabled=graph_enabled,
            )
        return (registered,)

    def register_from_discovery(
        self,
        *,
        tenant_id: str,
        discovered_schema: Plan,
        entity_mapping: Mapping[str, str] | None = None,
    ) -> tuple[Registered, ...]:
        """Register what was discovered in a database, as a source to be synced; see
        `memory.schemas`.

        Args:
            entity_mapping: "table.column" -> the type of the entities that it identifies.
        """
        with self._opened(tenant_id) as memory:
            return memory.schemas.register_from_discovery(
                discovered_schema, entity_mapping, url=_addresses.get(discovered_schema.address)
            )

    def _opened(self, tenant: str) -> Memory:
        # nothing is embedded by a definition
        return Memory.open(self._home, tenant=tenant, embedder="none")


class OntologyDiscovery:
    """Discovers what databases hold, without writing anything."""

    def introspect_postgres(
        self,
        *,
        connection_string: str,
        tables: Sequence[str] | None = None,
        extract_relationships: bool = True,
    ) -> Plan:
        """Discover the tables of a PostgreSQL database: keys, names, edges, with evidence.

        Raises:
            InvalidInputError: the address is not one of PostgreSQL.
            SourceError: the database cannot be read.
            UnknownNameError: there is no such table.
        """
        from .schema.databases.opening import open_database
        from .schema.discovery.discovering import discover
        from .schema.plan.source import name_of_address

        if not connection_string.startswith(("postgresql://", "postgres://")):
            raise InvalidInputError(
                "this is not the address of a PostgreSQL database", remedy="postgresql://…"
            )
        database = open_database(connection_string)
        try:
            name = name_of_address(database.address)
            plan = discover(database, name, tables, extract_relationships)
        finally:
            database.close()
        _addresses[plan.address] = connection_string
        return plan


schema_registry = SchemaRegistry()
ontology_discovery = OntologyDiscovery()
