"""Moments: stretches of time, described by what happened in them."""
