"""Slots: what a profile can know of a person, and the values it takes."""
