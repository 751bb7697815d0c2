"""Natural-language labels and the keys they stand for.

A label is what a person or a model calls a thing ("Sarah Chen"); its key is what the store indexes
("sarah-chen"). Every label that differs only in case, Unicode form, quotes or separators has the
same key.
"""

from __future__ import annotations

import re
from functools import lru_cache
from unicodedata import normalize

from .errors import LabelError

MAX_LABEL_LENGTH = 65_536  # characters

_SHORT = 128  # characters
_SEPARATORS = re.compile(r"[\s_\-]+")
_QUOTES = {  # opening -> closing
    '"': '"',
    "'": "'",
    "`": "`",
    "“": "”",
    "‘": "’",
    "«": "»",
    "「": "」",
}


def key(text: str) -> str:
    """The key of a label: NFKC, casefolded, trimmed, unquoted, separator runs as one hyphen.

    Every other character is kept, so e-mail addresses, paths, URLs and CJK names stay distinct, and
    camel case is not split. `key` is idempotent.

    Raises:
        LabelError: the text is not a string, is empty once trimmed and unquoted, holds a NUL
            character, or is longer than `MAX_LABEL_LENGTH`.

    >>> {key("Sarah Chen"), key("sarah_chen"), key("  SARAH-CHEN "), key('"Sarah  Chen"')}
    {'sarah-chen'}
    >>> key("TiDB"), key("john.doe@example.com"), key("東京 タワー")
    ('tidb', 'john.doe@example.com', '東京-タワー')
    """
    if type(text) is str and len(text) <= _SHORT:
        return _short_key(text)
    return _key(text)


def is_label(text: str) -> bool:
    """Whether a text can be a label: whether it has a key.

    >>> is_label("Sarah Chen"), is_label("''"), is_label("  ")
    (True, False, False)
    """
    return bool(try_key(text))


def try_key(text: str) -> str:
    """The key of a text; empty for what cannot be a label."""
    try:
        return key(text)
    except LabelError:
        return ""


def storable(text: str) -> bool:
    """Whether every store can keep a text: no NUL character, no half of a surrogate pair.

    >>> storable("größe"), storable("a\\0"), storable("\\ud800")
    (True, False, False)
    """
    return "\0" not in text and not _has_surrogate(text)


def join_path(*segments: str) -> str:
    """Labels as one path; a slash or a percent sign inside one is escaped, nothing else is.

    >>> join_path("resources", "Q1/Q2 plan", "related", "50% off")
    '/resources/Q1%2FQ2 plan/related/50%25 off'
    """
    escaped = (segment.replace("%", "%25").replace("/", "%2F") for segment in segments)
    return "".join(f"/{segment}" for segment in escaped)


def split_path(path: str) -> list[str]:
    """The labels of a path, as `join_path` was given them.

    Raises:
        LabelError: it is not a text that begins with a slash, or a label of it is empty.

    >>> split_path("/resources/Q1%2FQ2 plan/related/50%25 off")
    ['resources', 'Q1/Q2 plan', 'related', '50% off']
    """
    if not isinstance(path, str) or not path.startswith("/"):
        raise LabelError(
            "a path begins with a slash",
            label=str(path)[:80],
            remedy="/resources/Kickoff/related/Spec",
        )
    segments = [_unescape(segment) for segment in path[1:].split("/")]
    # for its error, if it is not a label
    for segment in segments:
        key(segment)
    return segments


def _unescape(segment: str) -> str:
    return segment.replace("%2F", "/").replace("%2f", "/").replace("%25", "%")


def _has_surrogate(text: str) -> bool:
    if text.isascii():
        return False
    # a hundred times as fast as looking at each character
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _key(text: str) -> str:
    if not isinstance(text, str):
        raise LabelError(f"a label must be text, not {type(text).__name__}", label=repr(text)[:80])
    if len(text) > MAX_LABEL_LENGTH:
        raise LabelError(
            f"a label may have {MAX_LABEL_LENGTH:,} characters, this one has {len(text):,}",
            label=text[:80],
            remedy="name the thing briefly and keep the long text in `content` or `summary`",
        )
    if text.isascii():
        folded = text.lower().strip()
    else:
        # Casefolding may undo the normal form, so that a second key would be another.
        folded = normalize("NFKC", normalize("NFKC", text).casefold()).strip()
    while len(folded) > 1 and _QUOTES.get(folded[0]) == folded[-1]:
        folded = folded[1:-1].strip()
    if not folded or folded in _QUOTES:
        raise LabelError("a label may not be empty", label=text, remedy="give the record a name")
    if "\0" in folded:
        raise LabelError(
            "a label may not hold a NUL character", label=text[:80], remedy="remove it"
        )
    if _has_surrogate(folded):
        raise LabelError(
            "a label may not hold half a surrogate pair",
            label=ascii(text[:80]),
            remedy="decode it as UTF-8",
        )
    if "_" in folded or "-" in folded:
        return _SEPARATORS.sub("-", folded)
    # a quarter of the time of a regular expression
    return "-".join(folded.split())


# the same labels come again and again, and a key costs as much as a probe
_short_key = lru_cache(maxsize=16_384)(_key)
