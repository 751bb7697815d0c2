"""The commands with behaviour of their own."""
