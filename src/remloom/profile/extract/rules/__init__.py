"""What a user says of themself, found by rule: English, and no model.

`passage` hides what are not the user's own words, `clauses` parts their sentences, drops what is
not meant and brings the rest into one form; `extractor` tries patterns on it, and `lexicon` says
what words stand for. Precision comes first: what is in doubt is left to a model.
"""

from .extractor import extract

__all__ = ["extract"]
