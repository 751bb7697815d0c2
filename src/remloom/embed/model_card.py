"""The model card of an embedder: what cosines of its vectors mean, which languages it knows."""

from __future__ import annotations

from msgspec import Struct

from ..text.language import is_english


class ModelCard(Struct, frozen=True, kw_only=True):
    """Measured figures, by which recall and dreaming judge an embedder's vectors.

    An embedder may have one as its attribute `model_card`. Without one every question is taken
    to be in a language that it knows, and nothing is concluded from a cosine alone.
    """

    # cosine below which the best window is hardly about the question
    near: float
    # cosine below which a record is about something else than the question
    far: float
    # mean and standard deviation of the cosine of any two texts
    mean: float
    deviation: float
    languages: tuple[str, ...] = ()  # ISO 639-1; none: all languages

    def knows_language_of(self, text: str) -> bool:
        """Whether it may know the language of a text, as far as script and common words tell.

        This tells only English from the others, so an embedder of several is taken to know it.
        """
        return set(self.languages) != {"en"} or is_english(text)
