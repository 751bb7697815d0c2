"""Functions by their paths, imported when they are needed."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

_HERE = "remloom.serve.cli"
# the classes of the nouns of `Memory`, and of what is not of one memory
_NOUNS = {
    "": "memory.memory.Memory",
    "admin": "memory.admin.Admin",
    "dreams": "dream.service.Dreams",
    "home": "memory.home.Home",
    "jobs": "jobs.service.Jobs",
    "keys": "tenancy.api_keys.ApiKeys",
    "profile": "profile.service.Profiles",
    "runs": "runs.service.Runs",
    "schemas": "schema.service.Schemas",
}


def load(path: str) -> Callable[..., Any]:
    """Import a function of this package: "commands.records.forget"."""
    module, _, name = f"{_HERE}.{path}".rpartition(".")
    return getattr(importlib.import_module(module), name)  # type: ignore[no-any-return]


def load_method(path: str) -> Callable[..., Any]:
    """Import a method of `Memory` or one of its nouns: "recall", "profile.confirm"."""
    noun, _, name = path.rpartition(".")
    module, _, owner = f"remloom.{_NOUNS[noun]}".rpartition(".")
    return getattr(getattr(importlib.import_module(module), owner), name)  # type: ignore[no-any-return]
