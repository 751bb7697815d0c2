"""Text of JSON, with comments or without: values are put in and taken out, and all else stays.

A program's settings are its user's: formatting, comments and order are kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from msgspec import Struct

from ...errors import InvalidInputError

_SPACE = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*(?s:.*?)\*/)*")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR = re.compile(r"[^\s,:\[\]{}\"/]+")
_INDENTED = re.compile(r"^([ \t]+)[\"{\[]", re.MULTILINE)
_DEEPEST = 200

Path = tuple[str, ...]


class Insertion(Struct, frozen=True, array_like=True):
    """A text that was put in, and where it begins."""

    at: int
    text: str


class _Node(NamedTuple):
    """A value and its place; of an object or array also those in it."""

    start: int
    end: int
    value: Any
    keys: tuple[str, ...] = ()  # of an object
    starts: tuple[int, ...] = ()  # of its members, with their keys, or of its items
    children: tuple[_Node, ...] = ()

    def child(self, key: str) -> _Node | None:
        """What stands below a key, or in an array below a number."""
        if isinstance(self.value, list):
            return self.children[int(key)] if key.isdecimal() else None
        found = None
        for name, child in zip(self.keys, self.children, strict=False):
            # the last of one name counts, as everywhere
            found = child if name == key else found
        return found


def parse(text: str) -> Any:
    """The value of a text; None of an empty one.

    Raises:
        InvalidInputError: it is not JSON with comments.
    """
    root = _root(text)
    return None if root is None else root.value


def put(text: str, path: Path, value: Any, *, item: bool) -> tuple[str, list[Insertion]]:
    """Put a value where a path leads, or, as an item, at the end of the array there.

    What the path needs is made. The insertions are in the order in which they were done.

    Raises:
        InvalidInputError: the text is not JSON, or something else stands there.
    """
    root = _root(text)
    if root is None:
        return _insert(text, [(len(text), _dump(_wrapped(path, value, item), "  ", "\n") + "\n")])
    node, depth = root, 0
    while depth < len(path):
        if not isinstance(node.value, dict):
            raise _wrong(path[:depth], "an object")
        child = node.child(path[depth])
        if child is None:
            return _add(text, node, _wrapped(path[depth + 1 :], value, item), path[depth])
        node, depth = child, depth + 1
    if not item:
        raise _wrong(path, "free")
    if not isinstance(node.value, list):
        raise _wrong(path, "an array")
    return _add(text, node, value, None)


def undo(text: str, insertions: Sequence[Insertion]) -> str | None:
    """Take insertions out again, the last first; None if the text is not as they left it."""
    for at, inserted in ((one.at, one.text) for one in reversed(insertions)):
        end = at + len(inserted)
        if text[at:end] != inserted:
            return None
        text = text[:at] + text[end:]
    return text


def take(
    text: str, path: Path, ours: Callable[[Any], bool], *, item: bool, made: Collection[Path]
) -> str:
    """Take out the value where a path leads, or the items there, that are `ours`.

    A container that becomes empty goes too if its path is one of `made`.
    """
    root = _root(text)
    if root is None:
        return text
    nodes = [root]
    for key in path:
        child = nodes[-1].child(key)
        if child is None:
            return text
        nodes.append(child)
    if item:
        array = nodes[-1]
        found = [n for n, child in enumerate(array.children) if ours(child.value)]
        if not found:
            return text
        if len(found) < len(array.children) or path not in made:
            return take(_cut(text, array, found[-1]), path, ours, item=True, made=made)
    elif not ours(nodes[-1].value):
        return text
    depth = len(path) - 1
    while depth > 0 and len(nodes[depth].children) == 1 and path[:depth] in made:
        depth -= 1
    return _cut(text, nodes[depth], nodes[depth].keys.index(path[depth]))


def _wrapped(path: Path, value: Any, item: bool) -> Any:
    value = [value] if item else value
    for key in reversed(path):
        value = {key: value}
    return value


def _wrong(path: Path, right: str) -> InvalidInputError:
    return InvalidInputError(
        f"{'.'.join(path) or 'the whole'} is not {right}", remedy="mend it, or take it out"
    )


def _insert(text: str, pieces: Sequence[tuple[int, str]]) -> tuple[str, list[Insertion]]:
    """Insert pieces, whose places are those in the text before any of them."""
    insertions, moved = [], 0
    for at, piece in pieces:
        insertions.append(Insertion(at + moved, piece))
        text = text[: at + moved] + piece + text[at + moved :]
        moved += len(piece)
    return text, insertions


def _add(text: str, node: _Node, value: Any, key: str | None) -> tuple[str, list[Insertion]]:
    """Add a member or an item at the end of a container, in the form that the text has."""
    line = "\r\n" if "\r\n" in text else "\n"
    own = _indent_at(text, node.start)
    indented = _INDENTED.search(text)
    unit = indented[1] if indented else "  "
    close = node.end - 1
    if node.children:
        first, last = node.starts[0], node.children[-1]
        tail, comma = _tail(text, last.end, close)
        pieces = [] if comma else [(last.end, ",")]
        if "\n" in text[node.start : first]:
            inner = _indent_at(text, first)
            piece = line + inner + _member(key, value, unit, line + inner)
        else:
            piece = " " + _member(key, value, None, "")
        return _insert(text, [*pieces, (tail, piece)])
    tail, _ = _tail(text, node.start + 1, close)
    piece = line + own + unit + _member(key, value, unit, line + own + unit)
    if "\n" not in text[tail:close]:
        piece += line + own
    return _insert(text, [(tail, piece)])


def _member(key: str | None, value: Any, unit: str | None, line: str) -> str:
    text = _dump(value, unit, line)
    return text if key is None else f"{json.dumps(key, ensure_ascii=False)}: {text}"


def _dump(value: Any, unit: str | None, line: str) -> str:
    text = json.dumps(value, indent=unit, ensure_ascii=False)
    return text if unit is None else text.replace("\n", line)


def _indent_at(text: str, at: int) -> str:
    """The white space that the line of a place begins with."""
    begin = text.rfind("\n", 0, at) + 1
    return text[begin : begin + len(text[begin:at]) - len(text[begin:at].lstrip(" \t"))]


def _tail(text: str, at: int, close: int) -> tuple[int, bool]:
    """End of the last comma or comment before a place, and whether there is a comma."""
    end, comma = at, False
    while at < close:
        if text[at] == ",":
            comma = True
        if text[at] in " \t\r\n":
            at += 1
            continue
        at = at + 1 if text[at] == "," else _comment_end(text, at)
        end = at
    return end, comma


def _comment_end(text: str, at: int) -> int:
    if text.startswith("/*", at):
        return text.index("*/", at) + 2
    end = text.find("\n", at)
    end = len(text) if end < 0 else end
    return end - 1 if text[end - 1] == "\r" else end


def _cut(text: str, owner: _Node, number: int) -> str:
    """Cut a member or item out, and one comma with it."""
    start, end = owner.starts[number], owner.children[number].end
    before = owner.children[number - 1].end if number else owner.start + 1
    after = owner.starts[number + 1] if number + 1 < len(owner.children) else owner.end - 1
    begin, _ = _tail(text, before, start)
    comma = _comma(text, end, after)
    if comma >= 0:
        return text[:begin] + text[end:comma] + text[comma + 1 :]
    if number:
        former = _comma(text, before, start)
        return text[:former] + text[former + 1 : begin] + text[end:]
    # nothing is left in it
    rest = text[end : owner.end - 1]
    return text[:begin] + (rest if rest.strip() or begin > before else "") + text[owner.end - 1 :]


def _comma(text: str, at: int, end: int) -> int:
    """Place of the comma between two places; -1 if there is none."""
    while at < end:
        at = _skip(text, at)
        if at < end and text[at] == ",":
            return at
        at += 1
    return -1


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _root(text: str) -> _Node | None:
    begin = _skip(text, 1 if text.startswith("\ufeff") else 0)
    if begin == len(text):
        return None
    root = _value(text, begin, 0)
    rest = _skip(text, root.end)
    if rest != len(text):
        raise _broken(text, rest)
    return root


def _broken(text: str, at: int) -> InvalidInputError:
    line = text.count("\n", 0, at) + 1
    column = at - text.rfind("\n", 0, at)
    return InvalidInputError(f"not JSON at line {line}, column {column}", remedy="mend the file")


def _value(text: str, at: int, depth: int) -> _Node:
    opening = text[at : at + 1]
    if depth > _DEEPEST:
        raise _broken(text, at)
    if opening == "{":
        return _object(text, at, depth)
    if opening == "[":
        return _array(text, at, depth)
    match = (_STRING if opening == '"' else _SCALAR).match(text, at)
    if not match:
        raise _broken(text, at)
    try:
        return _Node(at, match.end(), json.loads(match[0]))
    except ValueError:
        raise _broken(text, at) from None


def _object(text: str, start: int, depth: int) -> _Node:
    keys, starts, children = [], [], []
    at = _skip(text, start + 1)
    while text[at : at + 1] != "}":
        key = _STRING.match(text, at)
        if not key:
            raise _broken(text, at)
        colon = _skip(text, key.end())
        if text[colon : colon + 1] != ":":
            raise _broken(text, colon)
        child = _value(text, _skip(text, colon + 1), depth + 1)
        keys.append(json.loads(key[0]))
        starts.append(at)
        children.append(child)
        at = _next(text, child.end, "}")
    values = (child.value for child in children)
    value = dict(zip(keys, values, strict=True))
    return _Node(start, at + 1, value, tuple(keys), tuple(starts), tuple(children))


def _array(text: str, start: int, depth: int) -> _Node:
    children = []
    at = _skip(text, start + 1)
    while text[at : at + 1] != "]":
        child = _value(text, at, depth + 1)
        children.append(child)
        at = _next(text, child.end, "]")
    value = [child.value for child in children]
    starts = tuple(child.start for child in children)
    return _Node(start, at + 1, value, (), starts, tuple(children))


def _next(text: str, at: int, closing: str) -> int:
    """Where the next member or item begins, or the closing bracket is."""
    at = _skip(text, at)
    if text[at : at + 1] == ",":
        return _skip(text, at + 1)
    if text[at : at + 1] != closing:
        raise _broken(text, at)
    return at
