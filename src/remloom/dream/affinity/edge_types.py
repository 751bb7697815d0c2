"""The two types of edges between resources that are about the same: seed 5's two path forms."""

from __future__ import annotations

RELATED = "related"  # by their vectors
ENTITY = "entity"  # by the names that both share
