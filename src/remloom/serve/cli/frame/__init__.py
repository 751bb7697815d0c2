"""What every command has: the terminal, options, texts as they are shown."""
