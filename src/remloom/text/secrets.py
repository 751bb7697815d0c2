"""Secrets in a text: keys, passwords, numbers of cards and accounts; and their masks.

What begins like a key of a known service is one; cards, IBANs and social security numbers prove
themselves by their digits; a password is what somebody calls so. All of it in linear time.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from .edits import Edit, Edited, apply

_MAX_PASSES = 8
# Python's possessive quantifiers ("++") keep each of these from going back over what it has read.
# Behind a group they match too little before Python 3.11.5: they stand behind characters only.
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:[^-]*+(?:-(?!-)[^-]*+){0,1000}-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    # one that was cut off
    r"|(?:\s{0,4}[A-Za-z0-9+/=]{16,}+)*)"
)
_PASSWORD_IN_URL = re.compile(r"://[^\s/:@\[\]]{0,100}+:(?P<value>[^\s/@\[\]]{1,200}+)@")
_TELEGRAM = re.compile(r"\d(?<![A-Za-z\d]\d)\d{5,11}+:AA[A-Za-z0-9_-]{32,}+", re.ASCII)
_BEARER = re.compile(
    r"earer (?<=[Bb]earer )(?P<value>(?=[^\s\d]{0,60}\d)[A-Za-z0-9._~+/-]{20,}+=*)"
)
# What may not stand before these is asked after the first character: so the search goes from one
# possible beginning to the next, in a third of the time.
_CARD = re.compile(
    r"[2-6](?<![A-Za-z\d.][2-6])(?:(?:(?<=4)\d|(?<=5)[1-5]|(?<=2)[2-7]|(?<=6)\d|(?<=3)5)\d\d"
    r"([ -]?)\d{4}\1\d{4}\1\d{4}"
    r"|(?<=3)[47]\d\d([ -]?)\d{6}\2\d{5}|(?<=3)[068]\d\d([ -]?)\d{6}\3\d{4})(?![A-Za-z\d]|[.-]\d)",
    re.ASCII,
)
_SSN = re.compile(
    r"[0-8](?<![\d-][0-8])\d\d(?<!000)(?<!666)-(?!00)\d\d-(?!0000)\d{4}(?![\d-])", re.ASCII
)
_IBAN = re.compile(r"[A-Z](?<![A-Za-z0-9][A-Z])[A-Z]\d\d(?=[ A-Z0-9]{11})", re.ASCII)
# what is between "pin" and its number; PIN codes are addresses
_PIN = re.compile(
    r"s?(?![ -]?code)(?: number)?(?: [a-z]{1,12}){0,4}?"
    r"(?: is| ist|:|=) {0,3}(?P<value>\d{4,8})(?!\d)",
    re.IGNORECASE,
)
_OWN = frozenset(("my", "our", "mein", "meine", "mi", "mon", "minha", "mijn"))
_FARTHEST = 48  # characters from "my" to what is mine
_SHORTEST = 4  # characters of a password
_SHORTEST_KEY = 16
_KEY = re.compile(r"[A-Za-z0-9_./+=~-]++")
# letters and digits among each other; words and versions joined by signs have no such part
_RANDOM = re.compile(r"(?=[A-Za-z]*+\d)(?=\d*+[A-Za-z])[A-Za-z0-9]{8}")
# what ends a sentence around a password and is not a part of it
_AFTER = ".,;:!?)]}>*\"'`“”‘’„«»"
_CODE = re.compile(r"[()\[\]{}<>$\\]")
_LONGEST_WORD = 40  # characters; what is longer is a sentence without blanks
_CAPITAL_WITHIN = re.compile(r"[a-z][A-Z]")
_IS_PLACEHOLDER = re.compile(r"(?i)(.)\1*|your.*|.*example.*|.*placeholder.*|changeme|redacted")


class Secret(NamedTuple):
    """A secret, and where it is in the text: from `start` up to `end`, in characters."""

    kind: str
    start: int
    end: int


class Masked(NamedTuple):
    """A text whose secrets are masked, and how: `passes` one after another."""

    text: str
    secrets: int = 0  # how many there were
    passes: tuple[Edited, ...] = ()
    found: tuple[tuple[str, str], ...] = ()  # the secrets, each with its kind

    def original_span(self, start: int, end: int) -> tuple[int, int]:
        """Where a part of the masked text is in the text as it was; of a mask, where the secret
        begins."""
        for edited in reversed(self.passes):
            start, end = edited.origin(start), edited.origin(end)
        return start, end

    def moved(self, position: int) -> int:
        """Where a position in the text as it was is in the masked text."""
        for edited in self.passes:
            position = edited.moved(position)
        return position


def find_secrets(text: str) -> list[Secret]:
    """Return the secrets in a text in their order; of those that overlap, the first and longest.

    >>> [secret.kind for secret in find_secrets("my password is hunter2, card 4111 1111 1111 1111")]
    ['password', 'card number']
    """
    found = sorted(_find(text), key=lambda secret: (secret.start, -secret.end))
    apart: list[Secret] = []
    for secret in found:
        if not apart or secret.start >= apart[-1].end:
            apart.append(secret)
    return apart


def mask(text: str) -> tuple[str, int]:
    """Return a text with `[secret: kind]` for each secret, and how many there were. Line ends
    within one stay.

    Masking what is masked changes nothing.

    >>> mask("the PIN is 1234")
    ('the PIN is [secret: PIN]', 1)
    """
    masked = mask_with_origins(text)
    return masked.text, masked.secrets


def mask_with_origins(text: str) -> Masked:
    """Mask a text as `mask` does, and remember what stood where.

    >>> masked = mask_with_origins("the PIN is 1234, I like tea")
    >>> masked.text, masked.original_span(26, 36), masked.moved(17)
    ('the PIN is [secret: PIN], I like tea', (17, 27), 26)
    """
    passes: list[Edited] = []
    found: list[tuple[str, str]] = []
    # a secret may hide another that is right beside it
    for _ in range(_MAX_PASSES):
        secrets = find_secrets(text)
        if not secrets:
            break
        found += ((one.kind, text[one.start : one.end]) for one in secrets)
        passes.append(apply(text, (_edit(text, secret) for secret in secrets)))
        text = passes[-1].text
    return Masked(text, len(found), tuple(passes), tuple(found))


def names_password(name: str) -> bool:
    """Whether a name says that what it names is a password: "password", "db_passwd"."""
    return name.lower().endswith(tuple(_table().passwords))


def _edit(text: str, secret: Secret) -> Edit:
    lines = text.count("\n", secret.start, secret.end)
    return Edit(secret.start, secret.end, f"[secret: {secret.kind}]" + "\n" * lines)


def _find(text: str) -> Iterator[Secret]:
    table = _table()
    for prefix, kind, pattern in table.prefixed:
        # most texts have none of them, and this is the fastest way to see it
        if prefix in text:
            for match in pattern.finditer(text):
                yield Secret(kind, *match.span())
    yield from _find_marked(text)
    yield from _find_numbers(text)
    yield from _find_called(text)


def _find_called(text: str) -> Iterator[Secret]:
    lower = _lower(text)
    table = _table()
    for name in table.passwords:
        for start in _starts(lower, name):
            match = table.assigned.match(text, start + len(name))
            if match is not None:
                yield from _assignment(match, "password", text[max(0, start - _FARTHEST) : start])
    for name in table.keys:
        for start in _starts(lower, name):
            match = table.assigned.match(text, start + len(name))
            if match is not None:
                yield from _assignment(match, "key")
    for start in _starts(lower, "pin"):
        match = _PIN.match(text, start + len("pin"))
        if match is not None:
            yield Secret("PIN", *match.span("value"))


def _starts(lower: str, name: str) -> Iterator[int]:
    """Where a name begins, but for those within a word and in a mask."""
    start = lower.find(name)
    while start >= 0:
        before = lower[start - 1 : start]
        # Chinese and Japanese put no blanks between words
        within = before.isascii() and before.isalnum()
        if not within and lower[start - 8 : start] != "secret: ":
            yield start
        start = lower.find(name, start + len(name))


def _lower(text: str) -> str:
    """The text in lower case, with each character where it was."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(char.lower() if len(char.lower()) == 1 else char for char in text)


def _find_marked(text: str) -> Iterator[Secret]:
    """What is known by something in its midst or before it."""
    for mark, kind, pattern in (
        ("-----BEGIN", "private key", _PRIVATE_KEY),
        ("://", "password", _PASSWORD_IN_URL),
        (":AA", "Telegram token", _TELEGRAM),
        ("earer ", "bearer token", _BEARER),
    ):
        if mark in text:
            for match in pattern.finditer(text):
                yield Secret(kind, *match.span(pattern.groups and "value"))


def _find_numbers(text: str) -> Iterator[Secret]:
    """Numbers that their own digits prove."""
    for match in _CARD.finditer(text):
        if _passes_luhn(match[0]):
            yield Secret("card number", *match.span())
    for match in _SSN.finditer(text):
        yield Secret("social security number", *match.span())
    for match in _IBAN.finditer(text):
        end = _iban_end(text, match.start())
        if end:
            yield Secret("IBAN", match.start(), end)


def _passes_luhn(number: str) -> bool:
    digits = [int(char) for char in number if char.isdigit()][::-1]
    # the digits of 2d add up to 2d, or to 2d - 9 from 5 on
    doubled = [2 * digit - 9 * (digit > 4) for digit in digits[1::2]]
    return len(set(digits)) > 1 and (sum(digits[::2]) + sum(doubled)) % 10 == 0


def _iban_end(text: str, start: int) -> int:
    """Where the IBAN that begins here ends, in groups of four or in one; 0 if it is none."""
    length = _table().iban_lengths.get(text[start : start + 2], 0)
    is_grouped = text[start + 4 : start + 5] == " "
    end = start + length + ((length - 1) // 4 if is_grouped else 0)
    number = text[start:end].replace(" ", "")
    if not length or len(number) != length or text[end : end + 1].isalnum():
        return 0
    if not (number.isascii() and number.isalnum()):
        return 0
    # moved four to the left, letters as 10 to 35, it leaves 1
    digits = "".join(str(int(char, 36)) for char in number[4:] + number[:4])
    return end if int(digits) % 97 == 1 else 0


def _assignment(match: re.Match[str], kind: str, before: str = "") -> Iterator[Secret]:
    """What follows "password is" or "token=", if it looks like a secret."""
    if match["quoted"] is not None:
        start, end = match.span("quoted")
        value = match["quoted"]
        looks_so = kind == "password" or _looks_random(value)
    else:
        start = match.start("value")
        value = match["value"].rstrip(_AFTER)
        end = start + len(value)
        looks_so = _looks_random(value) if kind == "key" else _looks_secret(match, value, before)
    if not looks_so or len(value) < _SHORTEST:
        return
    # what is masked already, or an example
    if "[secret: " not in value and not _IS_PLACEHOLDER.fullmatch(value):
        yield Secret(kind, start, end)


def _looks_secret(match: re.Match[str], value: str, before: str) -> bool:
    """Whether a word behind "password is" or "password=" has a digit or a sign in it, or capitals
    within; a plain word is a password only as "my password"."""
    is_sentence = match["verb"].strip().strip(":").isalpha()
    if value.isalpha() and len(value) > _LONGEST_WORD:
        return False
    # an assignment in a program may have a call, a type or another name on its other side
    if _CODE.search(value) or ("=" in match["verb"] and "." in value):
        return False
    if not value.isalpha() and not _is_compound(value):
        return True
    if not is_sentence or value.casefold() in _table().words:
        return False
    # "my password", "my old Netflix password"
    is_own = not _OWN.isdisjoint(before.casefold().split()[-3:])
    return is_own or _CAPITAL_WITHIN.search(value) is not None


def _looks_random(value: str) -> bool:
    if len(value) < _SHORTEST_KEY or _KEY.fullmatch(value) is None:
        return False
    return _RANDOM.search(value) is not None


def _is_compound(value: str) -> bool:
    """Whether it is words that signs join, as in compounds and names in programs."""
    return all(part.isalpha() for part in re.split(r"[-_.'’/,]", value) if part)


class _Table(NamedTuple):
    prefixed: list[tuple[str, str, re.Pattern[str]]]
    passwords: list[str]
    keys: list[str]
    assigned: re.Pattern[str]
    words: frozenset[str]
    iban_lengths: dict[str, int]


@cache
def _table() -> _Table:
    data = tomllib.loads(files(__package__).joinpath("secrets.toml").read_text("utf-8"))
    return _Table(
        prefixed=[
            (prefix, row["kind"], _prefixed(prefix, row["body"]))
            for row in data["prefixed"]
            for prefix in row["prefixes"]
        ],
        passwords=data["passwords"],
        keys=data["keys"],
        assigned=_assigned_after(data["verbs"]),
        words=frozenset(data["words"]),
        iban_lengths=data["iban"],
    )


def _prefixed(prefix: str, body: str) -> re.Pattern[str]:
    # the prefix stands first, as a pattern that begins with plain letters is searched for fastest
    start = re.escape(prefix)
    return re.compile(rf"{start}(?<![A-Za-z0-9_-]{start}){body}(?![A-Za-z0-9_-])")


def _assigned_after(verbs: list[str]) -> re.Pattern[str]:
    """The pattern of what follows "password": " for the bank is hunter2", ": …", `='…'`."""
    verb = "|".join(map(re.escape, verbs))
    return re.compile(
        r"(?![A-Za-z])[\"'`*]{0,3}(?: [^\s:=!?.,\[\]]{1,20}+){0,5}?"
        rf"(?P<verb>\s{{0,3}}[:=：]|\s(?i:{verb})\b:?|[是は为])\s{{0,3}}\*{{0,2}}"
        r"(?:[\"'`“„«](?P<quoted>[^\"'`“”„«»\n]{4,200}+)(?=[\"'`“”»])"
        r"|[\"'`“„«]?(?P<value>[^\s\"'`“”„«»。，；！？、]{4,100}+))"
    )
