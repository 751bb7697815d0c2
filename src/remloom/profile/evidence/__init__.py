"""Evidence: what was said or done that says something of a person, and where."""
