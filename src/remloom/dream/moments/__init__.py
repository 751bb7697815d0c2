"""Moments: stretches of time, told as what happened in them."""
