"""LoCoMo's JSON form, as `remloom.bench` reads it."""

from __future__ import annotations

from remloom.bench.locomo import LocomoChat as Conversation
from remloom.bench.locomo import LocomoQuestion as Question
from remloom.bench.locomo import load

__all__ = ["Conversation", "Question", "load"]
