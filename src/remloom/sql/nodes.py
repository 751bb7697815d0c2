"""The reader of the parser's tree: a handler for each kind of node; what has none is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, NoReturn, TypeAlias

from ..errors import InvalidInputError, SqlGuardError
from . import bounds
from .coercion import as_condition
from .values import Expression, Value

MAX_DEPTH = 80  # expressions inside each other
Node: TypeAlias = Any  # a node of the parser's tree


class Handler(NamedTuple):
    """What reads nodes of one kind."""

    read: Callable[[Any, Node], Expression]  # with the reader, for the nodes within this one
    takes: tuple[str, ...] | None = None  # arguments that the node may have; None: any


class NodeReader:
    """Reads the nodes of one statement.

    Args:
        tokens: of the statement; an error's position is found among them.
    """

    handlers: ClassVar[Mapping[str, Handler]]  # by the kind of a node; "Func": any other function

    def __init__(self, sql: str, tokens: Sequence[Any]) -> None:
        self.sql = sql
        self.tokens = tokens
        self._depth = 0

    def value(self, node: Node) -> Expression:
        """The value of a node within an expression."""
        handler = self.handlers.get(kind_of(node)) or self._function_handler(node)
        # Python's own stack would end in a RecursionError.
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self.refuse(f"an expression may be nested {MAX_DEPTH} deep", node)
        try:
            if handler.takes is not None:
                self.allow_only(node, *handler.takes)
            return handler.read(self, node)
        except InvalidInputError as error:
            raise self._locate(error, node) from None
        finally:
            self._depth -= 1

    def _function_handler(self, node: Node) -> Handler:
        from sqlglot import exp

        if not isinstance(node, exp.Func):
            self.refuse(f"{sql_name(node)} is not allowed", node)
        return self.handlers["Func"]

    def condition(self, node: Node) -> Expression:
        """The value of a node that holds or does not."""
        return as_condition(self.value(node))

    def literal_text(self, node: Node, message: str, whole: Node, remedy: str) -> str:
        """The text that a node within the whole is; any other than a literal is refused."""
        value = self.value(node)
        if not isinstance(value, Value) or value.type != "text":
            self.refuse(message, whole, remedy)
        return str(value.value)

    # -- errors ------------------------------------------------------------------------------------

    def allow_only(self, node: Node, *known: str) -> None:
        """Refuse a node that says more than these arguments of it."""
        extras = other_arguments(node, *known)
        if extras:
            self.refuse(f"{sql_name(node)} … {extras[0].upper()} is not allowed", node)

    def refuse(self, message: str, node: Node, remedy: str = "") -> NoReturn:
        """Refuse what a node says, at its position."""
        bounds.refuse(message, self.sql, self.position(node), remedy)

    def _locate(self, error: InvalidInputError, node: Node) -> InvalidInputError:
        if isinstance(error, SqlGuardError) and error.fields["position"] is None:
            error.fields |= {"statement": self.sql, "position": self.position(node)}
        return error

    def position(self, node: Node) -> int:
        """Where a node stands in the text, as well as can be told."""
        from sqlglot import exp

        if not isinstance(node, exp.Expression):
            return 0
        for part in node.walk():
            if "start" in part.meta:
                return int(part.meta["start"])
        # The parser notes no position of most words: take the first that may be this one.
        words = {
            str(getattr(node, "name", "")).upper(),
            sql_name(node).rpartition(" ")[2].upper(),
            node.key.upper(),
        }
        for token in self.tokens:
            if token.text and token.text.upper() in words:
                return int(token.start)
        return 0


def kind_of(node: Node) -> str:
    """The kind of a node: the name of its class."""
    return type(node).__name__


def other_arguments(node: Node, *known: str) -> list[str]:
    """The names of what a node says besides this."""
    return [name for name, argument in node.args.items() if argument and name not in known]


def strip_brackets(node: Node) -> Node:
    """The node within any brackets around it."""
    # the parser keeps every pair
    while kind_of(node) == "Paren":
        node = node.this
    return node


def flatten(node: Node) -> list[Node]:
    """The sides of a row of one operator, which the parser nests to the left."""
    sides: list[Node] = []
    waiting = [node]
    # without recursion: a row may be longer than Python's stack is deep
    while waiting:
        part = waiting.pop()
        if type(part) is type(node):
            waiting += [part.expression, part.this]
        else:
            sides.append(part)
    return sides


def sql_name(node: Node) -> str:
    """Name a node as SQL does: "the function lower", "COLLATE"."""
    from sqlglot import exp

    if isinstance(node, exp.Anonymous):
        return f"the function {str(node.this)[:40]}"
    if isinstance(node, exp.Func):
        return f"the function {node.sql_names()[0].lower()}"
    return str(getattr(node, "key", kind_of(node))).upper()
