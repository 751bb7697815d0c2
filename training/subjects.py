"""What each head is trained on: of which texts, and which label each has."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import NamedTuple

from remloom.heads.features import BUCKETS

from .texts import Text, read

__all__ = ["HEADS", "STRENGTH", "SUBJECTS", "Subject", "rows_of", "version_of"]

STRENGTH = 15.0  # C of the regression; the rows have length 1


class Subject(NamedTuple):
    """What a head is trained on.

    Args:
        texts: of which subjects: those of "turns" are in turns.en.toml and so on.
        label: of a text; None: it is none of this head's.
        by_vector: whether there is a variant for the default embedder, whose vector of the text is
            there anyway where it is used.
    """

    texts: tuple[str, ...]
    label: Callable[[Text], str | None]
    by_vector: bool = False


def _kind(text: Text) -> str | None:
    return text.label[1] if text.label[0] == "lasting" else None


def _statement(text: Text) -> str:
    # what says nothing of the speaker does so in several ways
    return text.label[1] if text.label[0] == "nothing" else text.label[0]


HEADS = {
    "statement": Subject(("turns",), _statement, by_vector=True),
    "kind": Subject(("turns",), _kind, by_vector=True),
    "audience": Subject(("requests",), lambda text: text.label[0], by_vector=True),
    "bearing": Subject(("bearings",), lambda text: text.label[1], by_vector=True),
}

# of the texts that heads are trained on
SUBJECTS = tuple(dict.fromkeys(name for subject in HEADS.values() for name in subject.texts))


def rows_of(name: str) -> list[tuple[Text, str]]:
    """The texts that a head is trained on, each with its label."""
    subject = HEADS[name]
    return [
        (text, label)
        for texts in subject.texts
        for text in read(texts)
        if (label := subject.label(text))
    ]


def version_of(name: str, embedder: str = "") -> str:
    """The version of a head that is trained on the texts of now."""
    digest = hashlib.blake2b(f"{BUCKETS} {STRENGTH} {embedder}".encode(), digest_size=4)
    for text, label in rows_of(name):
        digest.update(f"{text.language}\t{label}\t{text.text}\n".encode())
    return digest.hexdigest()
