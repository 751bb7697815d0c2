"""Relations: edges as agents are told of them."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from ...model import Edge
from ...text.quoting import one_line


class Relation(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An edge as an agent is told of it."""

    src: str
    relation: str
    dst: str
    weight: float
    valid_from: str = ""
    valid_to: str = ""
    facts: dict[str, Any] = {}

    @classmethod
    def of(cls, edge: Edge) -> Relation:
        """Make it of an edge."""
        facts = {name: value for name, value in edge.properties.items() if name not in _NAMES}
        return cls(
            src=edge.src,
            relation=edge.rel_type,
            dst=str(edge.properties.get("dst_name") or edge.dst),
            weight=edge.weight,
            valid_from=edge.valid_from.isoformat() if edge.valid_from else "",
            valid_to=edge.valid_to.isoformat() if edge.valid_to else "",
            facts=facts,
        )

    def __str__(self) -> str:
        """Write it in one line.

        >>> str(Relation(src="ada", relation="manages", dst="Bob", weight=1.0, valid_to="2025"))
        'ada manages Bob (until 2025)'
        """
        times = [f"from {self.valid_from}"] if self.valid_from else []
        times += [f"until {self.valid_to}"] if self.valid_to else []
        line = " ".join(map(one_line, (self.src, self.relation, self.dst)))
        return f"{line} ({', '.join(times)})" if times else line


_NAMES = ("dst_name", "dst_entity_type")
