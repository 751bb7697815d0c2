"""A plugin of pytest: no feature of Remloom can be imported, so that the kernel shows that it needs none."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType

FEATURES = (
    "dream",
    "federation",
    "jobs",
    "memory",
    "profile",
    "reader",
    "runs",
    "schema",
    "tenancy",
)


class Refusing:
    """Finds no feature, and says so."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> None:
        package, _, rest = name.partition(".")
        if package == "remloom" and rest.partition(".")[0] in FEATURES:
            raise AssertionError(f"the kernel imports {name}")


def pytest_configure() -> None:
    """Refuse them where this is loaded as a plugin; that a file is imported changes nothing."""
    sys.meta_path.insert(0, Refusing())
