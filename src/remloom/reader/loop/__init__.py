"""Reading with a language model, turn by turn, until there is an answer."""
