"""The options and arguments of a command, derived from the signature of a function."""

from __future__ import annotations

import builtins
import inspect
import types
import typing
from collections.abc import Callable, Collection
from datetime import datetime
from inspect import Parameter
from typing import Any, Literal, Union

import click

from ....text.docstrings import arguments_of, typing_names
from .command import Command, Option
from .options import BUDGET, LLM, METAVARS, SHARED, Time

# what a function is called with, besides what was typed
INJECTED = ("self", "call", "memory", "home", "keys", "progress", "on_turn", "typed")


class _Budget:
    """Stands for `llm.Budget` in annotations: its module is slow to import."""


class _Names(dict[str, Any]):
    """Names in annotations; a text stands for one that no option is of."""

    def __missing__(self, name: str) -> Any:
        return str


def parameters_of(command: Command) -> dict[str, Parameter]:
    """Give what a command's function takes, with types: of `**options` the method's keywords."""
    function, *methods = command.functions
    own = _typed_parameters(function, command.skip)
    is_closed = all(one.kind is not Parameter.VAR_KEYWORD for one in own.values())
    found = {name: one for name, one in own.items() if one.kind is not Parameter.VAR_KEYWORD}
    for method in () if is_closed else methods:
        for name, one in _typed_parameters(method, command.skip).items():
            if one.kind is Parameter.KEYWORD_ONLY:
                found.setdefault(name, one)
    return found


def _typed_parameters(function: Callable[..., Any], skip: Collection[str]) -> dict[str, Parameter]:
    origin = inspect.unwrap(function)
    hints = [
        hint
        for name, hint in origin.__annotations__.items()
        if name not in (*INJECTED, *skip, "return") and "Budget" not in str(hint)
    ]
    names = _Names(vars(builtins) | origin.__globals__ | {"Budget": _Budget})
    names |= typing_names(origin.__module__, hints)
    found = inspect.signature(function, locals=names, eval_str=True).parameters
    return {name: one for name, one in found.items() if name not in skip}


def click_parameters(command: Command, words: list[str]) -> list[click.Parameter]:
    """Make the arguments and options of a command.

    Args:
        words: what follows its path in its usage: "SLOT", "[VALUE]", "LABEL...".
    """
    offered = [one for name, one in parameters_of(command).items() if name not in INJECTED]
    made: list[click.Parameter] = [
        _argument(parameter, word) for parameter, word in zip(offered, words, strict=False)
    ]
    documented: dict[str, str] = {}
    for function in command.functions:
        documented = arguments_of(function.__doc__ or "") | documented
    for parameter in offered[len(words) :]:
        if parameter.annotation in (_Budget, _Budget | None):
            made += BUDGET
        else:
            made.append(_option(parameter, command, documented.get(parameter.name, "")))
    return [*made, LLM] if command.llm else made


def _argument(parameter: Parameter, word: str) -> click.Argument:
    is_required, takes_several = not word.startswith("["), "..." in word
    default = {} if is_required or takes_several else {"default": parameter.default}
    return click.Argument(
        [parameter.name],
        metavar=word,
        required=is_required,
        nargs=-1 if takes_several else 1,
        **default,
    )


def _option(parameter: Parameter, command: Command, documented: str) -> click.Option:
    shared = SHARED.get(parameter.name, Option())
    own = command.options.get(parameter.name, Option())
    name = parameter.name.strip("_").replace("_", "-")
    names = own.names or shared.names
    settings: dict[str, Any] = {"help": own.help or shared.help or _sentence(documented)}
    is_required = parameter.default is Parameter.empty
    settings |= {"required": True} if is_required else {"default": parameter.default}
    kind, is_list = _type_of(parameter)
    if kind is bool and parameter.default is True and names:
        settings |= {"is_flag": True, "flag_value": False, "show_default": False}
    elif kind is bool:
        names = names or (f"--{name}" if parameter.default is False else f"--{name}/--no-{name}")
        settings |= {"is_flag": True} if parameter.default is False else {}
    else:
        settings |= {"type": own.type or shared.type or kind, "multiple": is_list}
        # a choice shows its values
        if not isinstance(settings["type"], click.Choice):
            settings |= {"metavar": own.metavar or METAVARS.get(parameter.name)}
    if own.type is not None and is_list:
        # the type splits one text into a list
        settings["multiple"] = False
        settings["default"] = ",".join(parameter.default or ()) or None
    # an empty default says nothing in the help
    if settings.get("default") in ("", ()):
        settings["show_default"] = False
    return click.Option([*(names or f"--{name}").split(), parameter.name], **settings)


def _type_of(parameter: Parameter) -> tuple[Any, bool]:
    """Give the type of the values of a parameter, and whether it takes several."""
    hint = parameter.annotation
    is_union = typing.get_origin(hint) in (Union, types.UnionType)
    alternatives = typing.get_args(hint) if is_union else (hint,)
    parts = [part for part in alternatives if part not in (None, type(None))]
    lists = [part for part in parts if _is_list(part)]
    if lists:
        return _click_type([typing.get_args(lists[0])[0]]), True
    return _click_type(parts), False


def _is_list(hint: Any) -> bool:
    origin = typing.get_origin(hint)
    return isinstance(origin, type) and issubclass(origin, typing.Collection)


def _click_type(parts: list[Any]) -> Any:
    if typing.get_origin(parts[0]) is Literal:
        return click.Choice(typing.get_args(parts[0]))
    if str in parts or parts[0] not in (bool, int, float, datetime):
        return str
    return Time(needs_zone=True) if parts[0] is datetime else parts[0]


def _sentence(text: str) -> str:
    text = text[:1].upper() + text[1:]
    return text if not text or text[-1] in ".!?])…" else f"{text}."
