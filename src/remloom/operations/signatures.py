"""Operations out of methods: their arguments, value and documentation are the method's own."""

from __future__ import annotations

import collections.abc
import inspect
import types
import typing
from collections.abc import Callable, Iterable
from functools import partial
from typing import Annotated, Any, Literal, Union

import msgspec
from msgspec import Meta, Struct, defstruct

from ..ask.result import AskResult, AskTurn
from ..dream.context import MaintenanceResult
from ..dream.learn.run import LearnResult
from ..dream.rem_cycle import DreamResult
from ..dream.report import Metrics
from ..jobs import Job
from ..jobs.contract import State
from ..llm import Budget, UsageReport
from ..memory.memory import Memory
from ..model import Edge, Record
from ..profile.beliefs.belief import Belief
from ..profile.beliefs.exchange import Imported
from ..profile.beliefs.profile import Change, Explanation, Profile
from ..profile.beliefs.promotion import Candidate
from ..profile.beliefs.reliability import Learned
from ..profile.context.build import ProfileContext
from ..profile.evidence.claim import Value
from ..profile.evidence.evidence import Evidence
from ..profile.extract.normalise import NormaliseResult
from ..profile.extract.scan import ScanResult
from ..profile.slots.slot import Slot
from ..query.statements import SearchMode, Strategy
from ..reader.result import Reading
from ..retrieve.options import RecallChanges
from ..runs.failures import FailedItem
from ..runs.run import Run
from ..schema.definitions.definition_input import DefinitionParts
from ..tenancy.api_keys import Scope
from ..text.docstrings import head_of
from .bounds import MOST_ITEMS, bounded, without_pattern
from .operation import Hints, Needs, Operation, Progress, Route

# what modules import for type checkers alone
_VALUES = (
    AskResult, AskTurn, Belief, Budget, Candidate, Change, DreamResult, Evidence, Explanation,
    FailedItem, Imported, Job, Learned, LearnResult, MaintenanceResult, Metrics, NormaliseResult,
    Profile, ProfileContext, Reading, Run, ScanResult, Slot, UsageReport,
)  # fmt: skip
_NAMES: dict[str, Any] = {
    **{value.__name__: value for value in _VALUES},
    "DefinitionParts": DefinitionParts,
    "RecallChanges": RecallChanges,
    "State": State,
    "SearchMode": SearchMode,
    "Strategy": Strategy,
    "Value": Value,
    # what cannot come from outside: dropped from the unions that it is in
    **dict.fromkeys(
        ("DefinitionInput", "Embedder", "LearnProgress", "Plan", "RecallOptions", "Statement"),
        Callable[..., None],
    ),
}
_LISTS = (
    list,
    collections.abc.Collection,
    collections.abc.Iterable,
    collections.abc.Iterator,
    collections.abc.Sequence,
)
_CALLBACKS = ("progress", "on_turn", "told", "stream")
# arguments of `Memory` that mean something in its own process only: a value of Python, a path or a
# model of the server
_NOT_TAKEN = ("count_tokens", "embedder", "options", "strategy", *_CALLBACKS)
# what a server lets a caller choose of it
_NARROWED: dict[str, Any] = {"rerank": Literal["none", "llm"] | None}


class OfMemory:
    """Base of what does operations that are no methods of `Memory`, by its own methods."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory


def derive(
    name: str,
    route: str,
    scope: Scope,
    *,
    of: type = Memory,
    noun: str = "",
    method: str = "",
    is_long: bool = False,
    is_short: Callable[[Any], bool] | None = None,
    destructive: bool = False,
    idempotent: bool = False,
    skip: tuple[str, ...] = (),
    needs: Needs = "memory",
) -> Operation:
    """Make the operation of a method of `Memory`, or of one of its nouns.

    Args:
        route: "POST /v1/recall".
        of, noun: the class of the method, and how `Memory` calls the noun: `Runs`, "runs"; or an
            `OfMemory`.
        method: its name there; default the operation's, without the noun before it.
        skip: arguments that are not taken.
    """
    attribute = method or name.removeprefix(f"{noun}_")
    function = getattr(of, attribute)
    signature = inspect.signature(function)
    hints = typing.get_type_hints(function, _NAMES | function.__globals__, include_extras=True)
    positional = _rest_of(signature, inspect.Parameter.VAR_POSITIONAL)
    open_ended = _rest_of(signature, inspect.Parameter.VAR_KEYWORD)
    callback = next((one for one in _CALLBACKS if one in signature.parameters), "")
    keywords = _is_open(hints.get(open_ended))

    def does(memory: Any, values: Any, progress: Progress | None) -> Any:
        arguments = {
            field: value for field, value in _fields_of(values) if value is not msgspec.UNSET
        }
        given = arguments.pop(positional, ())
        if keywords:
            arguments.update(arguments.pop(open_ended, {}))
        if callback and progress is not None:
            arguments[callback] = progress
        if issubclass(of, OfMemory):
            owner: Any = of(memory)
        else:
            owner = getattr(memory, noun) if noun else memory
        return getattr(owner, attribute)(*given, **arguments)

    reads = scope == "read"
    is_its_own = issubclass(of, OfMemory) or needs == "federation"
    return Operation(
        name=name,
        takes=_takes(name, signature, hints, skip),
        gives=_given(hints["return"]),
        does=does,
        scope=scope,
        hints=Hints(
            read_only=reads, destructive=destructive, idempotent=reads or idempotent or destructive
        ),
        description=describe(function),
        route=Route.parse(route),
        needs=needs,
        method="" if is_its_own else f"{noun}.{attribute}" if noun else attribute,
        documented=function,
        is_long=is_long,
        is_short=is_short,
    )


def describe(function: Callable[..., Any]) -> str:
    """Give what a docstring says before its sections, without what is for readers of the code.

    >>> describe(Memory.delete_resource)
    'Forget one resource and what was derived from it.'
    """
    return head_of(inspect.getdoc(function) or "")


def _given(hint: Any) -> Any:
    """Give the type of a returned value; what is iterated over is a list outside."""
    if typing.get_origin(hint) is collections.abc.Iterator:
        return list[typing.get_args(hint)[0]]  # type: ignore[misc]
    return None if hint is type(None) else hint


def _takes(
    name: str, signature: inspect.Signature, hints: dict[str, Any], skip: tuple[str, ...]
) -> type[Struct]:
    """Make the struct of what a method takes."""
    fields: list[tuple[str, Any, Any]] = []
    for parameter in list(signature.parameters.values())[1:]:
        hint = hints[parameter.name]
        if parameter.name in (*_NOT_TAKEN, *skip):
            continue
        if parameter.kind is parameter.VAR_POSITIONAL:
            fields.append(
                (parameter.name, _items(hint, parameter.name, least=1), msgspec.NODEFAULT)
            )
        elif parameter.kind is parameter.VAR_KEYWORD and _is_open(hint):
            fields.append((parameter.name, dict[str, Any], {}))
        elif parameter.kind is parameter.VAR_KEYWORD:
            fields += _options(typing.get_args(hint)[0], skip)
        else:
            required = parameter.default is parameter.empty
            default = msgspec.NODEFAULT if required else _plain(parameter.default)
            fields.append((parameter.name, _wire(hint, parameter.name), default))
    # required ones first, as the documentation lists them
    fields.sort(key=lambda field: field[2] is not msgspec.NODEFAULT)
    title = "".join(part.title() for part in name.split("_"))
    return make_struct(f"{title}Takes", fields)


def make_struct(name: str, fields: Iterable[tuple[str, Any, Any]]) -> type[Struct]:
    """Make a struct that takes keywords, and refuses what it does not know."""
    return defstruct(name, fields, kw_only=True, frozen=True, forbid_unknown_fields=True)


def _options(keywords: Any, skip: tuple[str, ...]) -> list[tuple[str, Any, Any]]:
    """Give the keywords of a TypedDict as fields that may be left out."""
    hints = typing.get_type_hints(keywords, localns=_NAMES | _predicate_names())
    return [
        (name, _wire(hint, name) | msgspec.UnsetType, msgspec.UNSET)
        for name, hint in hints.items()
        if name not in (*_NOT_TAKEN, *skip)
    ]


def _predicate_names() -> dict[str, Any]:
    from ..retrieve import options

    return {**vars(options), "Reranker": Callable[..., None]}


def _wire(hint: Any, name: str = "") -> Any:
    """Give the type that stands for a hint outside: lists, texts of conditions, no callables."""
    if name in _NARROWED:
        return _NARROWED[name]
    if hint is type(None) or hint is None:
        return None
    if _is_condition(hint):
        return bounded(name, str)
    origin = typing.get_origin(hint)
    if origin is Annotated:
        # its own bounds, instead of those that its name has
        base, *bounds = typing.get_args(hint)
        wired = _wire(base, name)
        plain = typing.get_args(wired)[0] if typing.get_origin(wired) is Annotated else wired
        return Annotated[(plain, *bounds)]
    if origin in (Union, types.UnionType):
        return _union(typing.get_args(hint), name)
    if origin in _LISTS:
        return _items(typing.get_args(hint)[0], name)
    if origin is collections.abc.Mapping or hint is collections.abc.Mapping:
        key, value = typing.get_args(hint) or (str, Any)
        return dict[key, _wire(value)]  # type: ignore[misc, valid-type]
    return bounded(name, hint)


def _union(parts: tuple[Any, ...], name: str) -> Any:
    if set(parts) == {*typing.get_args(Record), Edge} or any(_is_condition(part) for part in parts):
        kept = [part for part in parts if not _is_condition(part)] or [str]
    else:
        kept = [part for part in parts if typing.get_origin(part) is not collections.abc.Callable]
    # of a struct and the object of its fields, the struct tells more
    structs = [part for part in kept if isinstance(part, type) and issubclass(part, Struct)]
    if structs:
        kept = [part for part in kept if typing.get_origin(part) is not collections.abc.Mapping]
    wired = [_wire(part, name) for part in kept]
    if any(_holds_others(part) for part in wired):
        wired = [without_pattern(part) for part in wired]
    return Union[tuple(wired)]  # noqa: UP007  # of a computed tuple


def _holds_others(hint: Any) -> bool:
    base = typing.get_args(hint)[0] if typing.get_origin(hint) is Annotated else hint
    return typing.get_origin(base) in (list, dict)


def _items(hint: Any, name: str, least: int = 0) -> Any:
    return Annotated[list[_wire(hint, name)], Meta(min_length=least, max_length=MOST_ITEMS)]  # type: ignore[misc]


def _is_condition(hint: Any) -> bool:
    return getattr(hint, "__module__", "") == "remloom.predicates"


def _is_open(hint: Any) -> bool:
    """Whether keywords may have any name."""
    return hint is Any


def _rest_of(signature: inspect.Signature, kind: Any) -> str:
    return next((one.name for one in signature.parameters.values() if one.kind is kind), "")


def _plain(default: Any) -> Any:
    if not isinstance(default, tuple):
        return default
    return msgspec.field(default_factory=partial(list, default)) if default else []


def _fields_of(values: Struct) -> list[tuple[str, Any]]:
    return [(name, getattr(values, name)) for name in values.__struct_fields__]
