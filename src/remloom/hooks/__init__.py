"""Hooks of coding agents: what was decided is kept, and brought back when it is needed.

A program calls the `hook`, a file of the standard library, which asks the `resident`: a process of
this home that starts by itself, and ends when nobody needs it.
"""
