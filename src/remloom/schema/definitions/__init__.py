"""Definitions of schemas: reading, checking, registering and changing them."""
