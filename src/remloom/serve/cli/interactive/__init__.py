"""What talks with its user over more than one line, and the demo."""
