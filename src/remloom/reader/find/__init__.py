"""Finding the lines of a document that a question needs."""
