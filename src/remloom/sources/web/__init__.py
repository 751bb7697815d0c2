"""The web: saved pages, feeds and what browsers keep."""
