"""What a user says of themself, found by rule: English, and no model.

`passage` hides what are not the user's own words, `clauses` parts their sentences, `frame` drops
what is not meant and tells how the rest is, `normal_form` brings it into one form, `patterns` say
what a clause claims, `lexicon` and `readings` what its words stand for. Precision comes first: what
is in doubt is left to a model.
"""

from .extractor import extract

__all__ = ["extract"]
