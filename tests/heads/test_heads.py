"""Heads: what they see of a text, what they decide, and that their weights are those of the texts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from training.subjects import HEADS, version_of
from training.texts import Text, read

from remloom.embed.bundled.sentence_embedder import MiniLM
from remloom.errors import UnknownNameError
from remloom.heads.features import BUCKETS, features
from remloom.heads.head import _SEES, NAMES, head

# none of these stands in training/texts
LASTING = [
    "I've kept bees behind the chapel since my divorce",
    "Ich esse seit zwanzig Jahren kein Fleisch mehr",
    "Vivo en Zaragoza con mis dos gatos desde hace años",
    "J'habite à Namur et je travaille à la poste depuis dix ans",
]
NOT_LASTING = [
    "can you turn this list into a table",
    "Kannst du mir das bitte auf Englisch übersetzen?",
    "¿Cuánto mide la torre más alta de Chile?",
    "Quelle est la capitale de la Mongolie ?",
]


@pytest.mark.parametrize("text", LASTING)
def test_what_lasts_is_told_in_each_language(text: str) -> None:
    assert head("statement").decide(text).label == "lasting"


@pytest.mark.parametrize("text", NOT_LASTING)
def test_what_says_nothing_of_the_speaker_is_told_in_each_language(text: str) -> None:
    assert head("statement").decide(text).label not in ("lasting", "passing")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("embedder", ["", MiniLM.name])
def test_the_weights_are_those_of_the_texts(name: str, embedder: str) -> None:
    seen_by = embedder if HEADS[name].by_vector else ""
    decided_by = head(name, embedder)
    assert decided_by.version == version_of(name, seen_by), "the texts have changed: make train"


def test_each_head_has_its_texts_and_none_stands_twice() -> None:
    assert set(HEADS) == set(NAMES)
    for subject in HEADS.values():
        for name in subject.texts:
            texts = [(text.language, text.text.casefold(), text.of) for text in read(name)]
            assert len(texts) == len(set(texts))


@given(st.text(max_size=700))
def test_any_text_can_be_decided_and_the_probabilities_are_of_one_whole(text: str) -> None:
    seen = features(text)
    assert np.all((seen >= 0) & (seen < BUCKETS))
    for name in NAMES:
        decided = head(name).decide_by(seen)
        assert decided.label in decided.probabilities
        assert sum(decided.probabilities.values()) == pytest.approx(1)


def test_a_head_that_an_embedder_has_none_of_needs_no_vector() -> None:
    assert head("kind", "somebody-elses-model").version == head("kind").version
    with_vector = head("kind", MiniLM.name)
    assert with_vector.decide("no coriander, ever").label in with_vector.labels


@pytest.mark.parametrize("name", NAMES)
def test_the_label_alone_is_that_of_the_whole_decision(name: str) -> None:
    texts = [text.text for subject in HEADS[name].texts for text in read(subject)][:300]
    for embedder in ("", MiniLM.name):
        decides = head(name, embedder)
        assert [decides.label_of(text) for text in texts] == [
            decides.decide(text).label for text in texts
        ]


def test_each_head_sees_what_it_was_trained_on() -> None:
    text = Text("Nothing beats the night ferry, I take it whenever there is one", ("", ""), "en")
    for name, subject in HEADS.items():
        if not subject.sees_pairs:
            assert np.array_equal(_SEES.get(name, features)(text.text), subject.sees(text)), name


def test_the_words_that_speak_for_a_label_are_named() -> None:
    reasons = head("statement").reasons("allergic to penicillin since childhood", "lasting")
    assert reasons[0][1] > 0
    assert {word for word, _ in reasons} <= {"allergic", "to", "penicillin", "since", "childhood"}


def test_a_head_that_does_not_exist_names_those_that_do() -> None:
    with pytest.raises(UnknownNameError, match="audience"):
        head("mood")
