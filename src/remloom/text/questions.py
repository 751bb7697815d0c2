"""What is asked, wherever it is asked: how long it may be."""

from __future__ import annotations

from ..errors import InvalidInputError

LONGEST_QUESTION = 8_000  # characters


def check_length(question: str) -> None:
    """Refuse a question that is longer than `LONGEST_QUESTION`.

    Raises:
        InvalidInputError: it is.
    """
    if len(question) > LONGEST_QUESTION:
        raise InvalidInputError(
            f"a question may have {LONGEST_QUESTION:,} characters, this one has {len(question):,}",
            remedy="read the text into the memory and ask something about it",
        )
