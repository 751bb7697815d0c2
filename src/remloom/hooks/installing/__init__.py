"""How programs' settings are changed: files written whole, and given back as they were."""
