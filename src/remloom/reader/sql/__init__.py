"""SQL over lines: read, checked against a closed list, mended, and rewritten."""
