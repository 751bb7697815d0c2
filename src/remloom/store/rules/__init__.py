"""What may be stored: validation, merging and preconditions, the same for every store."""
