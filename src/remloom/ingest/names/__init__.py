"""Names in texts: found by rules, by a model of spaCy, or because the memory knows them."""
