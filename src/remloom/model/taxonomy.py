"""The taxonomy of a memory: types of entities that are kinds of others, types of edges that mean
the same.

Source: seed design 5, "Ontology Management".
"""

from __future__ import annotations

from msgspec import Struct

from .. import labels


class Taxonomy(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A tree of types of entities, and synonyms of types of edges. Spellings of one key are one.

    >>> taxonomy = Taxonomy(
    ...     parents={"customer": "party", "reseller": "customer"},
    ...     synonyms={"owned_by": "belongs_to"},
    ... )
    >>> taxonomy.types_below("party")
    ('party', 'customer', 'reseller')
    >>> taxonomy.edge_types_like("Belongs To")
    ('Belongs To', 'owned_by')
    """

    parents: dict[str, str] = {}  # type of entities -> the type that it is a kind of
    synonyms: dict[str, str] = {}  # type of edges -> the standard type that it means

    def types_below(self, type: str) -> tuple[str, ...]:
        """Return a type of entities and those that are kinds of it, at any depth."""
        found = {labels.key(type): type}
        waiting = [*found]
        while waiting:
            parent = waiting.pop(0)
            for child, above in self.parents.items():
                if labels.key(above) == parent and labels.key(child) not in found:
                    found[labels.key(child)] = child
                    waiting.append(labels.key(child))
        return tuple(found.values())

    def edge_types_like(self, type: str) -> tuple[str, ...]:
        """Return a type of edges and those that mean the same."""
        standard = self._standard(type)
        found = {labels.key(type): type}
        for name in (*self.synonyms, *self.synonyms.values()):
            if self._standard(name) == standard:
                found.setdefault(labels.key(name), name)
        return tuple(found.values())

    def _standard(self, type: str) -> str:
        """Return the key of the standard type of edges that a type means."""
        means = {labels.key(name): labels.key(other) for name, other in self.synonyms.items()}
        key = labels.key(type)
        # a taxonomy that was checked has no circles
        for _ in means:
            key = means.get(key, key)
        return key
