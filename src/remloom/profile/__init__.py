"""What is known of a user: beliefs, each a fold over evidence that cites what was said.

`slots` says what can be known, `claim` what somebody said, `evidence` how it is kept, `belief` what
follows from it.
"""
