"""A head: a linear classifier over the features of a text, and what it decides."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from ..errors import UnknownNameError
from .features import BUCKETS, features, spelling, wording

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .features import Features

    Vector = NDArray[np.float32]


LANGUAGE = "language"  # the head that sees how words are spelled, and not which they are
DECISION = "decision"  # the head that tells what decides something that stands, from what does not
DECIDED = "decided"  # its label
DEPENDENCY = "dependency"  # the head that tells what says that something rests on something else
ORDER = "order"  # the head that sees words and pairs of them: it is asked of many texts
CHANGE = "change"  # the head that sees what was said later beside what was said earlier
# each has its texts, and its figures, in training/
NAMES = (
    "statement",
    "kind",
    "privacy",
    "audience",
    "bearing",
    "extent",
    "task",
    "support",
    "question",
    ORDER,
    "reply",
    CHANGE,
    DECISION,
    DEPENDENCY,
    LANGUAGE,
)
# probability by "statement", of words alone, from which on a sentence says something lasting;
# training judges by it whether a language is heard
LASTING_BY_WORDS = 0.5
_SEES = {LANGUAGE: spelling, ORDER: wording}  # the others see all `features`
_MOST_REASONS = 5
HEARD = "heard "  # begins the label of a language that training found the heads good enough in
ANOTHER = "another language"  # not heard either, but which one is not sure
_ENOUGH = 40  # different runs of letters; some four words have that many, or a dozen ideographs
_UNHEARD = 0.5  # least probability of all languages together that are not heard
_NAMED = 0.4  # least share of that probability that the one has which is named


class Decision(Struct, frozen=True, kw_only=True):
    """What a head decided of a text.

    Args:
        head: its name and version: "statement@1f0c22ab".
        label: what it decided for.
        probability: of the label, from 0 to 1.
        probabilities: of all labels.
    """

    head: str
    label: str
    probability: float
    probabilities: dict[str, float]

    def __str__(self) -> str:
        return f"{self.label} ({self.probability:.2f}, {self.head})"


class Head(Struct, frozen=True, eq=False):
    """Tells of a text which of a few labels fits it."""

    name: str
    version: str  # digest of what it was trained on, and how
    labels: tuple[str, ...]  # in the order of the columns
    weights: NDArray[np.int8]  # of each bucket for each label, shape (BUCKETS, labels)
    scales: NDArray[np.float32]  # what a weight of 1 adds, by label
    biases: NDArray[np.float32]  # by label
    # of each dimension of the text's vector, shape (dims, labels); None: it needs no embedder
    of_vector: NDArray[np.float32] | None = None
    without: Head | None = None  # decides where there is no such vector

    @property
    def sees_vectors(self) -> bool:
        """Whether the vector of a text makes a difference to it."""
        return self.of_vector is not None

    def decide(self, text: str, vector: Vector | None = None) -> Decision:
        """Decide which label fits a text.

        Args:
            vector: of the text, by the embedder that the head is for.

        >>> head("statement").decide("I've been a vegetarian since school").label
        'lasting'
        """
        return self.decide_by(_seen(self.name, text), vector)

    def label_of(self, text: str) -> str:
        """The label that fits a text; less work where nobody asks how sure it is."""
        if self.without is not None:
            return self.without.label_of(text)
        return self.labels[int(self._scores(_seen(self.name, text)).argmax())]

    def decide_by(self, seen: Features, vector: Vector | None = None) -> Decision:
        """The same of a text whose features are there already: several heads see the same."""
        if self.without is not None and not self.fits(vector):
            return self.without.decide_by(seen)
        scores = self._scores(seen, vector)
        # each label has a regression of its own, against all others
        shares = 1 / (1 + np.exp(-scores))
        shares /= shares.sum()
        best = int(shares.argmax())
        return Decision(
            head=f"{self.name}@{self.version}",
            label=self.labels[best],
            probability=float(shares[best]),
            probabilities=dict(zip(self.labels, map(float, shares), strict=True)),
        )

    def reasons(self, text: str, label: str) -> list[tuple[str, float]]:
        """The words of a text that speak most for a label, each with how much the label's score
        falls without it."""
        column = self.labels.index(label)
        whole = self._scores(_seen(self.name, text))[column]
        words = text.split()
        weighed = [
            (word, float(whole - self._scores(_seen(self.name, without))[column]))
            for place, word in enumerate(words)
            if (without := " ".join((*words[:place], *words[place + 1 :])))
        ]
        weighed.sort(key=lambda pair: -pair[1])
        return weighed[:_MOST_REASONS]

    def fits(self, vector: Vector | None) -> bool:
        """Whether a vector is of its embedder: one of another length is not, whatever its name
        is."""
        if vector is None or self.of_vector is None:
            return False
        return len(vector) == len(self.of_vector)

    def _scores(self, seen: Features, vector: Vector | None = None) -> NDArray[np.float32]:
        # every bucket counts the same; long texts no more than short ones
        total = self.weights[seen].sum(axis=0, dtype=np.float32) / np.sqrt(max(len(seen), 1))
        scores = total * self.scales + self.biases
        if self.of_vector is not None and vector is not None:
            scores = scores + vector @ self.of_vector
        return np.asarray(scores, dtype=np.float32)


def _seen(name: str, text: str) -> Features:
    return _SEES.get(name, features)(text)


@cache
def head(name: str, embedder: str = "") -> Head:
    """Load a head.

    Args:
        embedder: the name of the embedder whose vectors it will be given; of one that there are no
            weights for, and of none, the head that needs no vectors is returned.

    Raises:
        UnknownNameError: there is none of this name.
    """
    if name not in NAMES:
        raise UnknownNameError("head", name, NAMES)
    weights = files(__package__).joinpath("weights")
    path = weights.joinpath(file_name(name, embedder))
    if embedder and path.is_file():
        return _loaded(name, path, without=head(name))
    return _loaded(name, weights.joinpath(file_name(name)))


def file_name(name: str, embedder: str = "") -> str:
    """The name of the file of a head.

    >>> file_name("audience", "all-MiniLM-L6-v2"), file_name("kind")
    ('audience.all-minilm-l6-v2.npz', 'kind.npz')
    """
    of_embedder = re.sub(r"[^a-z0-9]+", "-", embedder.casefold())
    return ".".join(filter(None, (name, of_embedder, "npz")))


def _loaded(name: str, path: Traversable, *, without: Head | None = None) -> Head:
    with path.open("rb") as stream:
        data = np.load(stream, allow_pickle=False)
        weights = data["weights"]
        if weights.shape[0] != BUCKETS:
            raise ValueError(f"{path.name} has {weights.shape[0]} buckets, not {BUCKETS}")
        of_vector = data["of_vector"].astype(np.float32) if "of_vector" in data else None
        return Head(
            name,
            str(data["version"]),
            tuple(map(str, data["labels"])),
            weights,
            data["scales"],
            data["biases"],
            of_vector,
            without,
        )


def unheard_language(text: str) -> str:
    """Return the English name of a text's language if it is not heard.

    Empty if it is, or if there is too little text to tell, such as names or "ok".

    >>> unheard_language("მე თბილისში ვცხოვრობ და მასწავლებლად ვმუშაობ")
    'another language'
    >>> unheard_language("Since I retired I have been growing tomatoes on the balcony")
    ''
    """
    # words with a capital count as names; in a text that is all capitals that tells nothing
    seen = spelling(text.lower() if text.isupper() else text)
    if len(seen) < _ENOUGH:
        return ""
    probabilities = head(LANGUAGE).decide_by(seen).probabilities
    others = {name: one for name, one in probabilities.items() if not name.startswith(HEARD)}
    unheard = sum(others.values())
    if unheard < _UNHEARD:
        return ""
    likeliest = max(others, key=others.__getitem__)
    return likeliest if others[likeliest] >= _NAMED * unheard else ANOTHER
