"""The commands with behaviour of their own, and those that prompt for more than one line."""
