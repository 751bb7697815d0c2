"""What all tests share: how Hypothesis goes about; and what the examples in docstrings find at
hand, `home`, an empty folder, and `memory`, with a little in it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from remloom import Edge, Entity, Home, Memory, Resource
from remloom.settings import Settings

# No test depends on how fast a machine is, nor on what an earlier run found.
settings.register_profile(
    "remloom",
    deadline=None,
    database=None,
    derandomize="CI" in os.environ,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("remloom")


@pytest.fixture(autouse=True)
def examples(request: pytest.FixtureRequest) -> Iterator[None]:
    if not isinstance(request.node, pytest.DoctestItem):
        yield
        return
    folder: Path = request.getfixturevalue("tmp_path")
    namespace: dict[str, Any] = request.getfixturevalue("doctest_namespace")
    with Memory.open(folder / "memory", embedder="none") as memory:
        memory.write(
            [
                Entity(name="Sarah Chen", type="person", aliases=("S. Chen",)),
                Edge(src="Sarah Chen", rel_type="manages", dst="Bob Smith"),
                Resource(
                    name="Pricing notes",
                    content="Sarah proposed a new pricing model.",
                    uri="notes.md",
                ),
            ]
        )
        namespace |= {
            "home": folder / "home",
            "memory": memory,
            "Edge": Edge,
            "Entity": Entity,
            "Home": Home,
            "Memory": Memory,
            "Settings": Settings,
        }
        yield
