"""What the tests of recall have in common: a chat, and how its messages come back."""

from __future__ import annotations

from datetime import UTC, datetime

from remloom import Memory

MAY = datetime(2024, 5, 8, 18, tzinfo=UTC)
CHAT = [
    ("Jon", "Hey Gina! I lost my job as a banker yesterday.", 0),
    ("Gina", "Sorry to hear that! What will you do next?", 0),
    ("Jon", "I want to open a dance studio near the harbour.", 0),
    ("Gina", "That is brave. I adopted a puppy last month, her name is Coco.", 0),
    ("Jon", "Lovely! Which breed?", 0),
    ("Gina", "She is a spaniel, and she sleeps all day.", 0),
    ("Jon", "The studio has Marley flooring now, it looks great.", 14),
    ("Gina", "Congratulations! My online store sold forty hoodies.", 14),
    ("Jon", "I visited Rome for a short trip.", 14),
]


def said(memory: Memory, question: str, **options: object) -> list[str]:
    """The messages that come back."""
    return [id for hit in memory.recall(question, **options).hits for id in hit.message_ids]  # type: ignore[arg-type]
