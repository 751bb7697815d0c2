"""Commands as click runs them: built from their rows, and what is done when one is called."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from operator import attrgetter
from typing import Any

import click

from ....text.docstrings import first_paragraph
from .call import Call
from .command import Command, Report, load
from .failures import boundary
from .parameters import click_parameters, parameters_of
from .results import FAILED_WHEN, VIEWS, draw, exit_code, fields_of
from .shared_options import COMMON, LLM


def build(name: str, words: list[str], command: Command) -> click.Command:
    """Make the click command of a row; `words` are the arguments in its usage."""
    return click.Command(
        name,
        callback=lambda **arguments: run(command, **arguments),
        params=[*own_parameters(command, words), *COMMON],
        help=help_of(command),
    )


def own_parameters(command: Command, words: list[str]) -> list[click.Parameter]:
    """Give the arguments and options that a command has besides those that all have."""
    made = click_parameters(command, words, command.functions)
    return [*made, LLM] if command.llm else made


def help_of(command: Command) -> str:
    """Give the help of a command: that of its function, and when it fails."""
    function = command.functions[0]
    doc = function.__doc__ or ""
    # a function of this package speaks to those who type; a method to programmers, at length
    head = inspect.cleandoc(doc).partition("\n\nArgs:")[0] if command.by else first_paragraph(doc)
    return "\n\n".join(filter(None, (head, command.more, FAILED_WHEN.get(_result(function), ""))))


def run(
    command: Command, *, home: str | None, tenant: str | None, json: bool, **arguments: Any
) -> None:
    """Do what a command is for, show the result, and exit with its code."""
    # each common option may stand before the command's name or after it
    context = click.get_current_context()
    context.obj = call = context.obj.with_options(home, tenant, json, arguments.pop("llm", None))
    with boundary(json=call.json):
        if "budget_cost" in arguments:
            from ....llm import Budget

            tokens, cost = arguments.pop("budget_tokens"), arguments.pop("budget_cost")
            arguments["budget"] = Budget(tokens=tokens, cost=cost)
        result = _call(command, call, arguments)
        if result is None:
            # it has shown itself what there is to show
            return
        _show(command, call, result, arguments)
        if code := exit_code(result.result if isinstance(result, Report) else result):
            raise click.exceptions.Exit(code)


def _call(command: Command, call: Call, arguments: dict[str, Any]) -> Any:
    functions = command.functions
    function = functions[0]
    wanted = {
        name: one for name, one in parameters_of(functions).items() if name not in command.without
    }
    with _owner(command, call, wanted) as owner, _progress(command, call, wanted) as progress:
        if command.before:
            arguments |= load(command.before)(owner, arguments)
        if command.by:
            injected = {"call": call, _owner_name(wanted): owner} | progress
            own = {name: value for name, value in injected.items() if name in wanted}
            result = function(**arguments, **own)
        else:
            method = attrgetter(command.of.removeprefix("home.").removeprefix("keys."))(owner)
            result = method(**arguments, **progress)
        return load(command.after)(owner, result) if command.after else result


@contextmanager
def _owner(command: Command, call: Call, wanted: Collection[str]) -> Iterator[Any]:
    """Open what a command is about: a memory, a home, or API keys."""
    name = _owner_name(wanted) if command.by else command.of.partition(".")[0]
    if name == "home":
        yield call.open_home()
    elif name == "keys":
        with call.open_keys() as keys:
            yield keys
    elif name:
        with call.open(create=command.creates) as memory:
            yield memory
    else:
        yield None


def _owner_name(wanted: Collection[str]) -> str:
    return next((name for name in ("memory", "home", "keys") if name in wanted), "")


@contextmanager
def _progress(command: Command, call: Call, wanted: Collection[str]) -> Iterator[dict[str, Any]]:
    if "progress" not in wanted:
        yield {}
        return
    with call.progress(*command.phases) as advance:
        yield {"progress": advance}


def _show(command: Command, call: Call, result: Any, arguments: dict[str, Any]) -> None:
    if isinstance(result, Report):
        call.show(fields_of(result.data), result.text)
        return
    if command.says:
        call.show(fields_of(result), lambda: command.says.format(result, **arguments))
        return
    # that of a list goes by what the function says that it returns
    view = command.view or VIEWS.get(_result(command.functions[0]), "")
    call.show(fields_of(result), lambda: draw(result, arguments, view=view))


def _result(function: Callable[..., Any]) -> str:
    """Give the type of what a function returns, as its annotation has it."""
    return str(function.__annotations__.get("return", "")).replace("builtins.", "")
