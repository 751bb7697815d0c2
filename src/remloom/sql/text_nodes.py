"""Texts by operators: ||, LIKE, regular expressions, COLLATE and TRIM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from .calls import read_call
from .coercion import cast
from .nodes import NodeReader
from .patterns import match_regex, parse_like
from .values import Call, Expression, Like, Not, Value

if TYPE_CHECKING:
    from sqlglot import exp

    from .expressions import ExpressionReader


_TRIMS = {"LEADING": "ltrim", "TRAILING": "rtrim"}
_BINARY_COLLATIONS = ("C", "BINARY", "POSIX")


def _read_like(read: ExpressionReader, node: Any) -> Expression:
    return _read_escaped_like(read, node, "")


def _read_escaped_like(read: ExpressionReader, node: Any, escape: str) -> Expression:
    read.allow_only(node, "this", "expression", "negate")
    pattern = read.value(node.expression)
    if not isinstance(pattern, Value) or pattern.type != "text":
        read.refuse("LIKE takes a pattern that is a literal", node, "name LIKE 'Project%'")
    text = cast(read.value(node.this), "text")
    like = Like(text, parse_like(pattern.value, escape))
    return Not(like) if node.args.get("negate") else like


def _read_escape(read: ExpressionReader, node: exp.Escape) -> Expression:
    from sqlglot import exp

    read.allow_only(node, "this", "expression")
    inner, escape = node.this, read.value(node.expression)
    if not isinstance(escape, Value) or escape.type != "text":
        _refuse_escape(read, node)
    if not isinstance(inner, exp.Like | exp.ILike):
        _refuse_escape(read, node)
    return _read_escaped_like(read, inner, escape.value)


def _refuse_escape(read: ExpressionReader, node: Any) -> NoReturn:
    read.refuse("ESCAPE stands after LIKE and its pattern", node, "LIKE '100!%' ESCAPE '!'")


def _read_regex(read: ExpressionReader, node: exp.Expression) -> Expression:
    read.allow_only(node, "this", "expression", "flag")
    pattern = read.value(node.expression)
    flags = node.args.get("flag")
    if not isinstance(pattern, Value) or pattern.type != "text":
        read.refuse("a regular expression is a literal", node, "name ~ '^Project'")
    ignore_case = type(node).__name__ == "RegexpILike" or _ignores_case(read, flags, node)
    return match_regex(read.value(node.this), pattern.value, ignore_case=ignore_case)


def _ignores_case(read: ExpressionReader, flags: Any, node: Any) -> bool:
    """Whether the flags of a regular expression are `i`."""
    if flags is None:
        return False
    given = read.value(flags)
    if not isinstance(given, Value) or given.value not in ("i", "c", ""):
        read.refuse(
            "the flags of a regular expression are 'i' or none",
            node,
            "regexp_like(name, '^a', 'i')",
        )
    return bool(given.value == "i")


def _read_concatenation(read: ExpressionReader, node: exp.Expression) -> Expression:
    """A row of ||, which the parser nests to the left."""
    sides: list[Expression] = []
    waiting: list[Any] = [node]
    # without recursion: a row may be longer than Python's stack is deep
    while waiting:
        part = waiting.pop()
        if type(part) is type(node):
            read.allow_only(part, "this", "expression", "safe")
            waiting += [part.expression, part.this]
        else:
            sides.append(cast(read.value(part), "text"))
    return Call("||", tuple(sides), "text")


def _read_collation(read: ExpressionReader, node: exp.Collate) -> Expression:
    name = str(node.expression.name).upper()
    if name == "NOCASE":
        text = cast(read.value(node.this), "text")
        return Call("lower", (text,), "text")
    if name in _BINARY_COLLATIONS:
        return read.value(node.this)
    return read.refuse(
        f"the collation {name[:40]!r} is not allowed",
        node,
        "compare lower(name) to ignore case",
    )


def _read_trim(read: ExpressionReader, node: Any) -> Expression:
    read.allow_only(node, "this", "expression", "position")
    side = str(node.args.get("position") or "").upper()
    characters = node.args.get("expression")
    arguments = [node.this] if characters is None else [node.this, characters]
    return read_call(read, _TRIMS.get(side, "trim"), arguments, node)


READERS: dict[str, NodeReader] = {
    "Collate": _read_collation,
    "DPipe": _read_concatenation,
    "Escape": _read_escape,
    "ILike": _read_like,
    "Like": _read_like,
    "RegexpILike": _read_regex,
    "RegexpLike": _read_regex,
    "Trim": _read_trim,
}
