"""The parser of grammar.lark, and its parse table, which is kept between processes."""

from __future__ import annotations

import os
import stat
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from .transformer import Transformer

if TYPE_CHECKING:
    from lark import Lark


_WRITABLE_BY_OTHERS = 0o022


@cache
def load_grammar() -> Lark:
    """The parser of every rule that a text may begin with."""
    from lark import Lark

    return Lark(
        Path(__file__).with_name("grammar.lark").read_text(encoding="utf-8"),
        parser="lalr",
        start=["statement", "after_select", "after_start", "where"],
        transformer=Transformer(),
        maybe_placeholders=True,
        cache=parse_table_path(),
    )


def parse_table_path() -> str | bool:
    """Where the parse table is kept; False when there is no place for it.

    Making the table takes 80 ms, loading it 6. lark makes it again whenever the grammar or lark
    changed. It is a pickle, so anyone who can write it can run code here: nobody else may be able
    to.
    """
    from platformdirs import user_cache_path

    folder = user_cache_path("remloom")
    file = folder / f"dialect-{sys.version_info.major}.{sys.version_info.minor}.lark"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        is_safe = _is_ours(folder) and (not os.path.lexists(file) or _is_ours(file))
    except OSError:
        return False
    return str(file) if is_safe else False


def _is_ours(path: Path) -> bool:
    """Whether only we (and the administrator) can write to a path, or replace it."""
    # On Windows it is within the user's own, by the system's rules.
    if os.name == "nt":
        return True
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode) or status.st_uid != os.geteuid():
        return False
    if status.st_mode & _WRITABLE_BY_OTHERS:
        return False
    return all(map(_is_safe_parent, path.absolute().resolve().parents))


def _is_safe_parent(folder: Path) -> bool:
    status = folder.stat()
    # In a sticky folder, such as /tmp, only its owner may replace a file.
    is_shared = status.st_mode & _WRITABLE_BY_OTHERS and not status.st_mode & stat.S_ISVTX
    return status.st_uid in (0, os.geteuid()) and not is_shared
