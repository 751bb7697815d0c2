"""When a question is about: time phrases found in it, and the stretches of time that they mean.

English. `window` has what a question names, `phrases` the grammar, `words` its vocabulary,
`calendar` what a phrase becomes. What is understood is told in docs/retrieval.md, and recorded
phrase by phrase in the tests.
"""

from .window import Window, find_window

__all__ = ["Window", "find_window"]
