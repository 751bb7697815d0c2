"""The functions that SQL may call: their names, what they take and give, and their SQL.

The table is functions.json; a function that is not in it does not exist. In the SQL of a store,
`{0}`, `{1}`, … stand for the arguments as the store writes them, `{all}` for all of them.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from .values import Type


class Function(Struct, frozen=True):
    """A function of the table.

    A parameter is the name of a type. `text…` must be a literal: a text that is looked for, cut off
    or put in has to be bounded before a row is read. `same` stands for any type, but one type for
    all parameters that say so. `…` after the last means any number of them; `?` marks an optional
    one.
    """

    name: str
    takes: tuple[str, ...]
    gives: Type | Literal["same"]
    result: str  # what it gives, for the documentation
    sqlite: str = ""  # its SQL; empty where the writer has a method for it
    postgres: str = ""
    aliases: tuple[str, ...] = ()


class _Table(Struct, frozen=True):
    functions: tuple[Function, ...]
    aggregates: tuple[Function, ...]


@cache
def _table() -> _Table:
    file = Path(__file__).with_name("functions.json")
    return msgspec.json.decode(file.read_bytes(), type=_Table)


@cache
def _functions_by_name() -> dict[str, Function]:
    return {
        name: function
        for function in (*functions(), *aggregates())
        for name in (function.name, *function.aliases)
    }


def functions() -> tuple[Function, ...]:
    """The functions of one row."""
    return _table().functions


def aggregates() -> tuple[Function, ...]:
    """The functions of many rows."""
    return _table().aggregates


def find_function(name: str) -> Function | None:
    """The function of this name or alias, in any case."""
    return _functions_by_name().get(name.lower())


def function_names() -> list[str]:
    """Every name and alias of a function, sorted."""
    return sorted(_functions_by_name())


def markdown_list() -> str:
    """Make the list of functions of docs/dialect.md."""
    return "\n".join(map(_list_item, (*functions(), *aggregates())))


def _list_item(function: Function) -> str:
    parameters = ", ".join(map(_parameter_text, function.takes))
    aliases = f" (also {', '.join(function.aliases)})" if function.aliases else ""
    return f"- `{function.name}({parameters})`{aliases} → {function.gives}: {function.result}"


def _parameter_text(parameter: str) -> str:
    word = parameter.rstrip("?")
    if word == "same":
        word = "value"
    elif word.endswith("…") and word != "…":
        word = f"'{word[:-1]}'"
    return f"[{word}]" if parameter.endswith("?") else word
