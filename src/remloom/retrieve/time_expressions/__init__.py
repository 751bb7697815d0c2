"""When a question is about: time phrases found in it, and the stretches of time that they mean.

English. `window` finds whole phrases, `phrases` has the grammar of a point in time, `pieces` its
parts, `words` the vocabulary, `calendar` stretches of time. docs/recall.md lists what is
understood, and the tests record it phrase by phrase.
"""

from .window import Window, find_window

__all__ = ["Window", "find_window"]
