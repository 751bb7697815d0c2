"""Affinity: edges between resources that are about the same."""
