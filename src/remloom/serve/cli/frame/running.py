"""Commands as click runs them: built from their rows, and what is done when one is called."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import Parameter
from typing import Any

import click

from ....text.docstrings import first_paragraph
from .call import Call
from .command import Command, Report
from .failures import boundary
from .loading import load, load_method
from .parameters import click_parameters, parameters_of
from .results import FAILED_WHEN, VIEWS, draw, exit_code, fields_of
from .shared_options import COMMON, LLM


def build(name: str, words: list[str], command: Command) -> click.Command:
    """Make the click command of a row; `words` are the arguments in its usage."""
    return click.Command(
        name,
        callback=lambda **given: run(command, **given),
        params=[*own_parameters(command, words), *COMMON],
        help=help_of(command),
    )


def own_parameters(command: Command, words: list[str]) -> list[click.Parameter]:
    """Give the arguments and options that a command has besides those that all have."""
    made = click_parameters(command, words, _functions(command))
    return [*made, LLM] if command.llm else made


def help_of(command: Command) -> str:
    """Give the help of a command: that of its function, and when it fails."""
    function = _functions(command)[0]
    doc = function.__doc__ or ""
    # a function of this package speaks to those who type; a method to programmers, at length
    head = inspect.cleandoc(doc).partition("\n\nArgs:")[0] if command.by else first_paragraph(doc)
    return "\n\n".join(filter(None, (head, command.more, FAILED_WHEN.get(_result(function), ""))))


def run(
    command: Command, *, home: str | None, tenant: str | None, json: bool, **given: Any
) -> None:
    """Do what a command is for, show the result, and exit with its code."""
    # each common option may stand before the command's name or after it
    context = click.get_current_context()
    context.obj = call = context.obj.with_options(home, tenant, json, given.pop("llm", None))
    with boundary(json=call.json):
        if "budget_tokens" in given and "budget_cost" in given:
            from ....llm import Budget

            tokens, cost = given.pop("budget_tokens"), given.pop("budget_cost")
            given["budget"] = Budget(tokens=tokens, cost=cost)
        result = _call(command, call, given)
        if result is None:
            # it has shown itself what there is to show
            return
        _show(command, call, result, given)
        if code := exit_code(result.result if isinstance(result, Report) else result):
            raise click.exceptions.Exit(code)


def _call(command: Command, call: Call, given: dict[str, Any]) -> Any:
    functions = _functions(command)
    function, wanted = functions[0], parameters_of(functions)
    with _owner(command, call, wanted) as owner, _progress(command, call, wanted) as progress:
        if command.before:
            given |= load(command.before)(owner, given)
        arguments = dict(given) | progress
        if command.by:
            injected = {"call": call, owner_name(wanted): owner}
            arguments |= {name: value for name, value in injected.items() if name in wanted}
            result = function(**arguments)
        else:
            rest = [name for name, one in wanted.items() if one.kind is Parameter.VAR_POSITIONAL]
            several = arguments.pop(rest[0]) if rest else ()
            result = _method(owner, command.of)(*several, **arguments)
        return load(command.after)(owner, result) if command.after else result


@contextmanager
def _owner(command: Command, call: Call, wanted: Any) -> Iterator[Any]:
    """Open what a command is about: a memory, a home, or API keys."""
    name = owner_name(wanted) if command.by else command.of.partition(".")[0]
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


def owner_name(wanted: Any) -> str:
    return next((name for name in ("memory", "home", "keys") if name in wanted), "")


@contextmanager
def _progress(command: Command, call: Call, wanted: Any) -> Iterator[dict[str, Any]]:
    if "progress" not in wanted:
        yield {}
        return
    with call.progress(*command.phases) as advance:
        yield {"progress": advance}


def _show(command: Command, call: Call, result: Any, given: dict[str, Any]) -> None:
    if isinstance(result, Report):
        call.show(fields_of(result.data), result.text)
        return
    if command.says:
        call.show(fields_of(result), lambda: command.says.format(result, **given))
        return
    # that of a list goes by what the function says that it returns
    view = command.view or VIEWS.get(_result(_functions(command)[0]), "")
    call.show(fields_of(result), lambda: draw(result, given, view=view))


def _result(function: Callable[..., Any]) -> str:
    """Give the type of what a function returns, as its annotation has it."""
    return str(function.__annotations__.get("return", "")).replace("builtins.", "")


def _functions(command: Command) -> list[Callable[..., Any]]:
    """Give the function that a command calls, and the method of which it does the work."""
    functions = [load(command.by)] if command.by else []
    return [*functions, load_method(command.of)] if command.of else functions


def _method(owner: Any, method: str) -> Callable[..., Any]:
    noun, _, name = method.rpartition(".")
    found = owner if noun in ("", "home", "keys") else getattr(owner, noun)
    return getattr(found, name)  # type: ignore[no-any-return]
