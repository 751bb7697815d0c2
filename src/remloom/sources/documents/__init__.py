"""Documents: formats, and what converts them to text."""
