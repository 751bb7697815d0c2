"""Commands as click runs them: built from their rows, and what is done when one is called."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from operator import attrgetter
from typing import Any

import click

from ....text.docstrings import first_paragraph
from .call import Invocation
from .command import Command, Report, load
from .failures import boundary
from .options import COMMON
from .parameters import click_parameters, parameters_of
from .results import draw, fields_of, returned_type, type_of


def build(name: str, words: list[str], command: Command) -> click.Command:
    """Make the click command of a row; `words` are the arguments in its usage."""
    return click.Command(
        name,
        callback=lambda **arguments: run(command, **arguments),
        params=[*click_parameters(command, words), *COMMON],
        help=help_of(command),
    )


def help_of(command: Command) -> str:
    function = command.functions[0]
    doc = function.__doc__ or ""
    # a function of this package speaks to those who type; a method to programmers, at length
    head = (
        inspect.cleandoc(doc).partition("\n\nArgs:")[0]
        if command.function
        else first_paragraph(doc)
    )
    return "\n\n".join(filter(None, (head, command.notes, returned_type(function).fails)))


def run(
    command: Command, *, home: str | None, tenant: str | None, json: bool, **arguments: Any
) -> None:
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
        done = result.result if isinstance(result, Report) else result
        if code := type_of(done).exit_code(done):
            raise click.exceptions.Exit(int(code))


def _call(command: Command, call: Invocation, arguments: dict[str, Any]) -> Any:
    wanted = parameters_of(command)
    with _owner(command, call, wanted) as owner, _progress(command, call, wanted) as progress:
        if command.prepare:
            arguments |= load(f"commands.{command.prepare}")(owner, arguments)
        if command.function:
            injected = {"call": call, "typed": arguments, _owner_name(wanted): owner} | progress
            own = {name: value for name, value in injected.items() if name in wanted}
            result = command.functions[0](**arguments, **own)
        else:
            method = attrgetter(command.method.removeprefix("home.").removeprefix("keys."))(owner)
            result = method(**arguments, **progress)
        if command.finish:
            return load(f"commands.{command.finish}")(owner, result)
        return result


@contextmanager
def _owner(command: Command, call: Invocation, wanted: Collection[str]) -> Iterator[Any]:
    """Open what a command is about: a memory, a home, or API keys."""
    name = _owner_name(wanted) if command.function else command.method.partition(".")[0]
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
def _progress(
    command: Command, call: Invocation, wanted: Collection[str]
) -> Iterator[dict[str, Any]]:
    if "progress" not in wanted:
        yield {}
        return
    with call.progress(*command.phases) as advance:
        yield {"progress": advance}


def _show(command: Command, call: Invocation, result: Any, arguments: dict[str, Any]) -> None:
    if isinstance(result, Report):
        call.show(fields_of(result.data), result.text)
        return
    if command.message:
        call.show(fields_of(result), lambda: command.message.format(result, **arguments))
        return
    # that of a list goes by what the function says that it returns
    view = command.view or returned_type(command.functions[0]).view
    call.show(fields_of(result), lambda: draw(result, arguments, view=view))
