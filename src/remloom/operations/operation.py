"""An operation: what a door of the server lets in, as a value."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Literal, TypeAlias, get_args, get_type_hints

from msgspec import Struct

from ..tenancy.api_keys import Scope
from ..text.docstrings import head_of

# what `does` is given first: an opened `Memory`, the `Home` of all tenants, the `ApiKeys` or
# `Grants` that whoever calls may see, or the `Federation` of those that let them ask
Needs: TypeAlias = Literal["memory", "home", "keys", "grants", "federation"]
# called with what a long operation reports on its way: counts, or a value of its own
Progress: TypeAlias = Callable[..., None]

# of a call that may be short: it reads little, and waits for no model
_FEW_LABELS = 64
_FEW_HITS = 20
# of all labels, or of a text: each word costs, and each label that is unknown
_FEW_CHARACTERS = 2_000
# a condition, a filter or another time can make any question read much
_MUCH = ("as_of", "filter", "type", "where")


class Route(Struct, frozen=True):
    """The HTTP method and path of an operation."""

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
    path: str  # with {parameters}, which are fields of `takes`

    @classmethod
    def parse(cls, text: str) -> Route:
        """Read "POST /v1/recall".

        >>> Route.parse("GET /v1/runs/{run}")
        Route(method='GET', path='/v1/runs/{run}')
        """
        method, _, path = text.partition(" ")
        return cls(method, path)  # type: ignore[arg-type]  # a test reads the whole table


class Hints(Struct, frozen=True, kw_only=True):
    """How careful a caller should be, as MCP's annotations name it."""

    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False


class Operation(Struct, frozen=True, kw_only=True):
    """One thing that can be asked of a memory from outside: values in, a value out.

    Attributes:
        name: unique: the name of its tool, and the `operationId` of OpenAPI.
        takes: a struct of what it takes, with bounds; unknown fields are refused.
        gives: the type of what it returns; `None` for nothing.
        does: called as `does(memory, values, progress)`; `progress` may be None.
        scope: what a key must have to call it.
        also_needs: gives the scopes that a key must have beside it, by what it is called with.
        route: over HTTP; None for what has a door of its own there.
        method: of `Memory` ("recall", "profile.set") whose arguments and value these are; empty for
            what is made for agents.
        is_default: whether agents see it unless they ask for all tools.
        is_long: whether it may take minutes: then it can be streamed, or done as a job.
        is_short: tells by its values whether a call may be short: it reads little, and waits for
            nobody; without, none is.
        aliases: other names of arguments that models give, and the right ones; of a field of the
            items of a list, "messages.content" and "text".
        description: a line or a paragraph for those who call it: a constant.
        carries: what goes with it beside values: a stream of bytes "out" or "in", which `does` is
            given in the place of `progress`.
        media_type: of the stream that it sends out.
        documented: the function whose docstring tells of each argument.
        text: writes its value as a language model reads it; without, that is JSON.
    """

    name: str
    takes: type[Struct]
    gives: Any
    does: Callable[[Any, Any, Any], Any]
    scope: Scope
    hints: Hints
    description: str
    route: Route | None = None
    needs: Needs = "memory"
    method: str = ""
    is_default: bool = False
    is_long: bool = False
    is_short: Callable[[Any], bool] | None = None
    aliases: Mapping[str, str] = {}
    carries: Literal["", "in", "out"] = ""
    media_type: str = ""
    documented: Callable[..., Any] | None = None
    text: Callable[[Any], str] | None = None
    also_needs: Callable[[Any], Collection[Scope]] | None = None

    @property
    def may_give_nothing(self) -> bool:
        """Whether there may be no value: over HTTP, that is answered with status 204."""
        return self.gives is None or type(None) in get_args(self.gives)


def tool(
    does: Callable[[Any, Any, Progress | None], Any],
    *,
    scope: Scope = "read",
    hints: Hints | None = None,
    is_default: bool = True,
    **more: Any,
) -> Operation:
    """Make the operation of a tool for agents. The docstring of its function is what they read."""
    name = does.__name__.strip("_")
    types = get_type_hints(does)
    return Operation(
        name=name,
        takes=types["values"],
        gives=types["return"],
        does=does,
        scope=scope,
        hints=hints or Hints(read_only=scope == "read", idempotent=True),
        description=head_of(does.__doc__ or ""),
        route=Route("POST", f"/v1/tools/{name}"),
        is_default=is_default,
        **more,
    )


def always(values: Any) -> bool:
    """Any call."""
    return True


def names_few(values: Any) -> bool:
    """A few labels, as they are now."""
    if len(values.labels) > _FEW_LABELS or _reads_much(values):
        return False
    return sum(map(len, values.labels)) <= _FEW_CHARACTERS


def finds_few(values: Any) -> bool:
    """A few of the nearest to a vector, or to words."""
    # a text without its vector has to be embedded
    embeds = "vector" in values.__struct_fields__ and values.vector is None
    if embeds or len(values.text) > _FEW_CHARACTERS:
        return False
    return values.limit <= _FEW_HITS and not _reads_much(values)


def _reads_much(values: Any) -> bool:
    return any(getattr(values, name, None) for name in _MUCH)
