"""A suite of somebody else's tests, as its `<name>.toml` describes it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

__all__ = ["HERE", "Suite", "load_suite", "suite_names"]

HERE = Path(__file__).parent


class Suite(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is run, and which of it does not apply to Remloom.

    A module beside the file, of the same name, is what points it at Remloom: a pytest plugin, or,
    where `runner` is "module", a module with `run(suite, folder) -> Outcomes`.
    """

    name: str = ""  # of its file
    title: str
    package: str  # whose tests they are
    version: str
    # "sdist": downloaded, and run from its root; "installed": what `requires` has, run from ours
    source: str = "sdist"
    runner: str = "pytest"  # pytest | module
    tests: tuple[str, ...] = ()  # files or folders below the root, or modules of ours that inherit
    options: tuple[str, ...] = ()  # of pytest
    # packages that it needs and ours do not, as pip takes them; installed in an environment apart
    requires: tuple[str, ...] = ()
    # test (a name without parameters, or the whole id) -> why it says nothing of Remloom
    not_applicable: dict[str, str] = {}

    @property
    def plugin(self) -> str:
        """The module that points it at Remloom."""
        return f"{__package__}.{self.name.replace('-', '_')}"


def suite_names() -> list[str]:
    """List the suites there are, by name."""
    return sorted(path.stem.replace("_", "-") for path in HERE.glob("*.toml"))


def load_suite(name: str) -> Suite:
    """Read a suite's file.

    Raises:
        SystemExit: there is none of this name.
    """
    path = HERE / f"{name.replace('-', '_')}.toml"
    if not path.exists():
        raise SystemExit(f"there is no suite {name!r}: choose of {', '.join(suite_names())}")
    described: dict[str, Any] = tomllib.loads(path.read_text("utf-8"))
    return msgspec.convert({"name": name, **described}, Suite)
