"""When a question is about: time phrases found in it, and the stretches of time that they mean.

English. `window` has the result, `finder` whole phrases, `phrases` the grammar of a point in time,
`pieces` and `numerals` its parts, `words` the vocabulary, `calendar` and `slices` stretches of
time. docs/recall.md lists what is understood, and the tests record it phrase by phrase.
"""

from .window import Window, find_window

__all__ = ["Window", "find_window"]
