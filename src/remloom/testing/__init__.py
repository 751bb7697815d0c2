"""What tests of Remloom, and of stores and embedders for it, are made of. Shipped, so that others
can use it."""

from __future__ import annotations

from .models import Cut, ScriptedModel

__all__ = ["Cut", "ScriptedModel"]
