"""The closed SQL compiler: from a SELECT or a predicate to values of our own, and from those to
SQL.

`compile` reads, `values` is all that can be said, a provider's `SqlWriter` writes. No text of a
user's, and nothing that a parser prints, is part of what a database is given: what the values
cannot say is refused.
"""
