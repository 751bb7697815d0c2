"""What each head is trained on: of which texts, and which label each has."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from remloom.heads.differences import compare, differences, transition
from remloom.heads.features import BUCKETS, features, spelling, wording
from remloom.heads.head import HEARD

from .heard import heard_languages
from .texts import Text, read

if TYPE_CHECKING:
    from remloom.heads.features import Features

__all__ = ["HEADS", "SUBJECTS", "Subject", "rows_of", "version_of"]


def _words(text: Text) -> Features:
    return features(text.text)


def _spelling(text: Text) -> Features:
    return spelling(text.text)


def _wording(text: Text) -> Features:
    return wording(text.text)


class Subject(NamedTuple):
    """What a head is trained on.

    Args:
        texts: of which subjects: those of "turns" are in turns.en.toml and so on.
        label: of a text; None: it is none of this head's.
        sees: what it sees of a text.
        strength: C of the regression; the rows have length 1.
        kin: of a text; among texts of one kin the labels count equally, however few there are of
            one. None: among all.
        by_vector: whether there is a variant for the default embedder, whose vector of the text is
            there anyway where it is used.
    """

    texts: tuple[str, ...]
    label: Callable[[Text], str | None]
    sees: Callable[[Text], Features] = _words
    strength: float = 15.0
    kin: Callable[[Text], str] | None = None
    by_vector: bool = False

    @property
    def sees_pairs(self) -> bool:
        """Whether it sees a text beside the one that it is of."""
        return self.sees in (_differences, _transition)


def _kind(text: Text) -> str | None:
    return text.label[1] if text.label[0] == "lasting" else None


def _statement(text: Text) -> str:
    # what says nothing of the speaker does so in several ways
    return text.label[1] if text.label[0] == "nothing" else text.label[0]


_SAID = ("like", "dislike", "fact", "style")


def _privacy(text: Text) -> str | None:
    if text.label[0] in ("sensitive", "plain"):
        return text.label[0]
    # few of what people say by the way is
    return "plain" if text.label[0] == "lasting" and text.label[1] in _SAID else None


def _extent(text: Text) -> str:
    return "most" if text.label == ("extent", "most") else "some"


def _reply(text: Text) -> str | None:
    # what people say of themselves, and what follows from a sentence, says something
    if text.label[0] == "lasting" or text.label == ("claim", "holds"):
        return "something"
    return text.label[1] if text.label[0] in ("reply", "learning") else None


def _question(text: Text) -> str:
    # advice is requested too; of what else is asked, recall makes no difference
    kind = "request" if text.label[1] == "advice" else text.label[1]
    return kind if kind in ("order", "summary", "told", "request") else "other"


def _order(text: Text) -> str | None:
    first, second = text.label
    if first == "order":
        return second if second in ("standing", "preference") else "none"
    if first != "lasting":
        return "none"
    return {"style": "standing", "like": "preference", "dislike": "preference"}.get(second)


def _dependency(text: Text) -> str:
    return text.label[0]


def _language(text: Text) -> str | None:
    if text.language in heard_languages():
        return f"{HEARD}{text.language}"
    # turns are no examples of a language that is not heard yet: some are code, or hardly text
    return text.label[1] if text.label[0] == "tongue" else None


def _differences(text: Text) -> Features:
    return differences(text.text, text.of)


def _transition(text: Text) -> Features:
    return transition(text.text, text.of)


def _nearness(text: Text) -> str:
    # who invents lies changes a word of the line, who says what is true of it uses other words;
    # in answers it is not so
    return "near" if compare(text.text, text.of).is_copy else "free"


HEADS = {
    "statement": Subject(("turns",), _statement, by_vector=True),
    "kind": Subject(("turns",), _kind, by_vector=True),
    "audience": Subject(("requests",), lambda text: text.label[0], by_vector=True),
    "bearing": Subject(("bearings",), lambda text: text.label[1], by_vector=True),
    "extent": Subject(("extents", "requests", "bearings"), _extent),
    "privacy": Subject(("sensitive", "turns"), _privacy, by_vector=True),
    "support": Subject(
        ("support",), lambda text: text.label[1], _differences, strength=5.0, kin=_nearness
    ),
    "task": Subject(("tasks",), lambda text: text.label[1], by_vector=True),
    "question": Subject(("questions",), _question),
    "order": Subject(("orders", "turns"), _order, _wording),
    "reply": Subject(("replies", "support", "turns"), _reply),
    "change": Subject(("changes",), lambda text: text.label[1], _transition),
    "dependency": Subject(("dependencies",), _dependency, by_vector=True),
    "decision": Subject(("decisions",), lambda text: text.label[0]),
    "language": Subject(("languages", "turns"), _language, _spelling),
}

# of the texts whose frequent words make the shape of a text: another list of words changes the
# weights of every head
SUBJECTS = ("turns", "requests", "bearings", "extents", "sensitive", "support", "tasks")


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
    digest = hashlib.blake2b(f"{BUCKETS} {HEADS[name].strength} {embedder}".encode(), digest_size=4)
    for text, label in rows_of(name):
        digest.update(f"{text.language}\t{label}\t{text.text}\t{text.of}\n".encode())
    return digest.hexdigest()
