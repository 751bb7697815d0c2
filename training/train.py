"""Trains the heads: texts → features → a logistic regression for each label → weights of a byte.

What the figures say is from a fifth of the texts, decided by a head that was trained on the others.
"""

from __future__ import annotations

import io
import zipfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsRestClassifier

import remloom.heads.features
from remloom.embed.contract import Embedder
from remloom.heads.features import BUCKETS, FREQUENT, tokens
from remloom.heads.head import file_name

from .heard import LASTING, Heard, judge, write_heard
from .subjects import HEADS, SUBJECTS, rows_of, version_of
from .texts import read

if TYPE_CHECKING:
    from remloom.heads.features import Features

Model: TypeAlias = OneVsRestClassifier | LogisticRegression

WEIGHTS = Path(remloom.heads.features.__file__).parent / "weights"
HELD_OUT = 0.2  # of the texts, for the figures
LARGEST = 15  # of a weight: finer ones decide no better
LEAST = 1  # a smaller one is 0
MOST_STEPS = 1_000  # of the regression; the slowest label takes 173
MOST_FREQUENT = 250  # words of each language that make a shape


class Figures(NamedTuple):
    """How a head did on texts that it was not trained on.

    Args:
        held_out: how many texts these were.
        right: the share that it decided rightly.
        by_language: how many texts there were, and the share; None: all have one label.
        by_label: precision and recall.
    """

    held_out: int
    right: float
    by_language: dict[str, tuple[int, float | None]]
    by_label: dict[str, tuple[float, float]]


class Trained(NamedTuple):
    """A head that was trained.

    Args:
        texts: how many it was trained on.
        heard: how turns are heard, by language; of the head "statement" without vectors.
        size: bytes of the file.
    """

    name: str
    version: str
    texts: int
    figures: Figures
    heard: dict[str, Heard]
    size: int


def write_frequent(folder: Path = WEIGHTS) -> None:
    """Write the words that make the shape of a text; to be done before any head is trained."""
    counts: dict[str, Counter[str]] = {}
    for subject in SUBJECTS:
        for text in read(subject):
            counts.setdefault(text.language, Counter()).update(set(tokens(text.text)))
    words = {
        word
        for count in counts.values()
        # words of equal number in an order that does not change
        for word, _ in sorted(count.items(), key=lambda pair: (-pair[1], pair[0]))[:MOST_FREQUENT]
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / FREQUENT).write_text("\n".join(sorted(words)) + "\n", encoding="utf-8")
    remloom.heads.features.frequent.cache_clear()


def train(name: str, embedder: Embedder | None = None, folder: Path = WEIGHTS) -> Trained:
    """Train a head, write its weights, and return its figures. The head "statement" also says
    which languages are heard.

    Args:
        embedder: whose vectors it is to see besides; None: none.
        folder: of the weights; with another than the default the list of what is heard stays.
    """
    rows = rows_of(name)
    texts = [text for text, _ in rows]
    labels = np.array([label for _, label in rows])
    matrix = _matrix([HEADS[name].sees(text) for text in texts])
    strength, kin = HEADS[name].strength, HEADS[name].kin
    kinds = np.array([kin(text) for text in texts]) if kin else None
    if embedder is not None:
        vectors = embedder.embed_documents([text.text for text in texts])
        matrix = hstack([matrix, csr_matrix(vectors)]).tocsr()
    known, held_out = train_test_split(
        np.arange(len(labels)), test_size=HELD_OUT, random_state=0, stratify=labels
    )
    model = _fitted(matrix[known], labels[known], strength, None if kinds is None else kinds[known])
    languages, is_so = [texts[place].language for place in held_out], labels[held_out]
    figures = _figures(np.array(languages), is_so, model.predict(matrix[held_out]))
    heard: dict[str, Heard] = {}
    if name == "statement" and embedder is None:
        column = list(model.classes_).index(LASTING)
        heard = judge(languages, is_so, model.predict_proba(matrix[held_out])[:, column])
        if folder == WEIGHTS:
            write_heard(heard)
    name_of_embedder = embedder.name if embedder is not None else ""
    version = version_of(name, name_of_embedder)
    path = folder / file_name(name, name_of_embedder)
    _write(path, version, _fitted(matrix, labels, strength, kinds))
    return Trained(path.stem, version, len(rows), figures, heard, path.stat().st_size)


def _fitted(
    matrix: csr_matrix,
    labels: NDArray[np.str_],
    strength: float,
    kinds: NDArray[np.str_] | None = None,
) -> Model:
    options = {
        "C": strength,
        "solver": "liblinear",
        "dual": True,
        "random_state": 0,
        "max_iter": MOST_STEPS,
    }
    if kinds is not None:
        weights = _balanced(labels, kinds)
        return LogisticRegression(**options).fit(matrix, labels, sample_weight=weights)
    # a label with few texts counts as much as one with many
    each = LogisticRegression(class_weight="balanced", **options)
    return OneVsRestClassifier(each).fit(matrix, labels)


def _balanced(labels: NDArray[np.str_], kinds: NDArray[np.str_]) -> NDArray[np.float64]:
    """What each text weighs so that in every kind the labels weigh the same."""
    many = Counter(zip(kinds, labels, strict=True))
    of_kind, different = Counter(kinds), len(set(labels))
    return np.array(
        [
            of_kind[kind] / (different * many[kind, label])
            for kind, label in zip(kinds, labels, strict=True)
        ]
    )


def _figures(
    languages: NDArray[np.str_], labels: NDArray[np.str_], decided: NDArray[np.str_]
) -> Figures:
    """How many of the held-out texts are right: all, by language and by label."""
    right = decided == labels
    by_label = {
        str(label): (
            float(right[decided == label].mean()) if label in decided else 0.0,
            float(right[labels == label].mean()),
        )
        for label in np.unique(labels)
    }
    by_language: dict[str, tuple[int, float | None]] = {}
    for language in np.unique(languages):
        own = languages == language
        several = len(np.unique(labels[own])) > 1
        by_language[str(language)] = (int(own.sum()), float(right[own].mean()) if several else None)
    return Figures(len(labels), float(right.mean()), by_language, by_label)


def _rounded(weights: NDArray[np.float64]) -> NDArray[np.int8]:
    """Weights of a byte each; what hardly counts is left out, and takes no room."""
    whole = np.rint(weights)
    return np.where(np.abs(whole) < LEAST, 0, whole).astype(np.int8)


def _matrix(rows: Sequence[Features]) -> csr_matrix:
    ends = np.cumsum([0, *map(len, rows)])
    # each row has length 1
    values = np.concatenate([np.full(len(row), 1 / np.sqrt(len(row))) for row in rows])
    return csr_matrix((values, np.concatenate(rows), ends), shape=(len(rows), BUCKETS))


def _write(path: Path, version: str, model: Model) -> None:
    models = model.estimators_ if isinstance(model, OneVsRestClassifier) else [model]
    columns = np.hstack([one.coef_.T for one in models])
    biases = np.hstack([one.intercept_ for one in models])
    if columns.shape[1] == 1:
        # of two labels there is one column
        columns, biases = np.hstack([-columns, columns]), np.hstack([-biases, biases])
    of_buckets, of_vector = columns[:BUCKETS], columns[BUCKETS:]
    scales = np.abs(of_buckets).max(axis=0) / LARGEST
    arrays: dict[str, NDArray[np.generic]] = {
        "weights": _rounded(of_buckets / scales),
        "scales": scales.astype(np.float32),
        "biases": biases.astype(np.float32),
        "labels": np.asarray(model.classes_, dtype=str),
        "version": np.asarray(version),
    }
    if len(of_vector):
        arrays["of_vector"] = of_vector.astype(np.float16)
    # as numpy writes it, but smaller, and the same bytes each time
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as file:
        for name, array in arrays.items():
            member = io.BytesIO()
            np.save(member, array, allow_pickle=False)
            file.writestr(zipfile.ZipInfo(f"{name}.npy"), member.getvalue(), zipfile.ZIP_LZMA)
