"""A command as a value: what it calls, and what of it cannot be derived from that."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from rich.console import RenderableType

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


class Option(NamedTuple):
    """How a parameter is spelled on a command line, where its name and type do not say it all.

    Attributes:
        names: "--yes -y"; a single name for a parameter that is True by default sets it to False.
        help: in place of what the docstring says.
        type: of click.
    """

    names: str = ""
    help: str = ""
    metavar: str = ""
    type: Any = None


@dataclass(frozen=True)
class Command:
    """One command. Its options are the parameters of a function, and its help is their docstring.

    Attributes:
        method: of `Memory` ("profile.confirm"), or of `Home` ("home.migrate") or `ApiKeys`
            ("keys.list"). It is called, unless `function` names what does its work.
        function: in `commands` ("records.forget"). It gets what its parameters ask for
            by their names: `call`, `memory`, `home`, `keys`, `progress`, and `typed`, all that was
            typed; and with `**options` all keywords of the method.
        options: of parameters, where they are not spelled as they are named.
        skip: parameters that are not offered.
        view: a function in `views` that draws the result; default that of its type.
        message: the result as a line, with its fields and the arguments: "{0.id} is due, {name}".
        prepare: a function there of the memory and the arguments that returns these, checked or
            changed.
        finish: a function there of the memory and the result that returns what is shown.
        phases: what is counted while it runs, one after another.
        creates: whether the tenant is made if need be.
        llm: whether it calls a language model.
        notes: further paragraphs of its help.
    """

    method: str = ""
    function: str = ""
    options: Mapping[str, Option] = field(default_factory=dict)
    skip: tuple[str, ...] = ()
    view: str = ""
    message: str = ""
    prepare: str = ""
    finish: str = ""
    phases: tuple[str, ...] = ()
    creates: bool = False
    llm: bool = False
    notes: str = ""

    @property
    def functions(self) -> list[Callable[..., Any]]:
        """The function that it calls, and the method of which that does the work."""
        functions = [load(f"commands.{self.function}")] if self.function else []
        return [*functions, load_method(self.method)] if self.method else functions


class Report(NamedTuple):
    """What a command shows when that is not just a result: as JSON, and as text.

    Attributes:
        result: from which the exit code comes; None: nothing failed.
    """

    data: Any
    text: str | Callable[[], RenderableType]
    result: Any = None


def load(path: str) -> Callable[..., Any]:
    module, _, name = f"{_HERE}.{path}".rpartition(".")
    return getattr(importlib.import_module(module), name)  # type: ignore[no-any-return]


def load_method(path: str) -> Callable[..., Any]:
    noun, _, name = path.rpartition(".")
    module, _, owner = f"remloom.{_NOUNS[noun]}".rpartition(".")
    return getattr(getattr(importlib.import_module(module), owner), name)  # type: ignore[no-any-return]
