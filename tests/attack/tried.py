"""The types of what attacks are given: how often to try, and where to say how often they did."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["Counted", "Rounds"]

Rounds = Callable[[int, int], int]
Counted = Callable[[str, int], None]
