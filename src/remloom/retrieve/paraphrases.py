"""Paraphrases of a question by a language model, to search for as well.

Source: seed 2, "Query expansion".
"""

from __future__ import annotations

from msgspec import Struct

from ..llm import LLM
from ..llm.prompts import Quote

_MOST = 3  # paraphrases that are searched for
_LONGEST = 300  # characters of one


class Paraphrased(Struct, frozen=True):
    """Other ways to ask the same."""

    questions: list[str]


def paraphrase(llm: LLM, question: str) -> list[str]:
    """Ask the model, in one call, for other ways to ask a question; at most three.

    Raises:
        ModelError: the model cannot be asked, or does not reply as it should.
    """
    reply = llm.ask("expand", {"question": Quote(question, trust="told")}, returns=Paraphrased)
    texts = (" ".join(text.split())[:_LONGEST] for text in reply.questions)
    return [text for text in dict.fromkeys(texts) if text and text != question][:_MOST]
