"""Where the SQL inside a statement ends, and the statement goes on."""

from __future__ import annotations

from typing import Any

from ..errors import QuerySyntaxError
from ..sql.bounds import tokenize
from .transformer import EXAMPLES


def cut_sql(text: str, start: int, *, starts_walk: bool) -> tuple[str, int]:
    """The SQL that begins at `start`, and the position where the statement goes on.

    SQL ends at a semicolon, at AS OF with a time and, when it starts a TRAVERSE (`starts_walk`), at
    the first DEPTH, DIRECTION, BREADTH, MEMO or ORDER BY edge./node. outside brackets: so a LIMIT
    before those belongs to the SELECT, one after them to the TRAVERSE.

    Raises:
        QuerySyntaxError: a string or a quoted name in it is not closed.
    """
    try:
        tokens = tokenize(text[start:])
    except QuerySyntaxError:
        raise QuerySyntaxError(
            "a string or a quoted name in this SQL is not closed",
            statement=text,
            position=start,
            expected=["a closing quote"],
            example=EXAMPLES["SELECT"],
        ) from None
    # What begins a clause of TRAVERSE may be a name within brackets.
    depth = 0
    for index, token in enumerate(tokens):
        depth += (_kind(tokens, index) == "L_PAREN") - (_kind(tokens, index) == "R_PAREN")
        if depth > 0 or index == 0:
            continue
        begins_walk = starts_walk and _begins_clause(tokens, index)
        if begins_walk or _ends_sql(tokens, index):
            end = start + tokens[index - 1].end + 1
            return text[start:end], start + token.start
    return text[start : start + tokens[-1].end + 1], len(text)


def _kind(tokens: list[Any], index: int) -> str:
    name: str = tokens[index].token_type.name if index < len(tokens) else ""
    return name


def _word(tokens: list[Any], index: int) -> str:
    word: str = tokens[index].text.upper() if index < len(tokens) else ""
    return word


def _ends_sql(tokens: list[Any], index: int) -> bool:
    if _kind(tokens, index) == "SEMICOLON":
        return True
    is_as_of = _word(tokens, index) == "AS" and _word(tokens, index + 1) == "OF"
    return is_as_of and _kind(tokens, index + 2) in ("STRING", "NUMBER", "IDENTIFIER")


def _begins_clause(tokens: list[Any], index: int) -> bool:
    """Whether a clause of TRAVERSE begins here, rather than a column of that name standing here."""
    word = _word(tokens, index)
    next_word, next_kind = _word(tokens, index + 1), _kind(tokens, index + 1)
    kind_after = _kind(tokens, index + 2)
    if word in ("DEPTH", "BREADTH"):
        return next_kind in ("NUMBER", "DASH", "ALL") or next_word == "FIRST"
    if word == "DIRECTION":
        return next_word in ("OUT", "IN", "BOTH") and kind_after != "L_PAREN"
    if word == "MEMO":
        return next_kind in ("STRING", "IDENTIFIER", "VAR")
    return word == "ORDER BY" and next_word in ("EDGE", "NODE") and kind_after == "DOT"
