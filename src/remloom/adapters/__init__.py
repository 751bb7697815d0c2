"""Remloom as the memory of agent frameworks, each by its own contract and each an extra.

A module here imports Remloom and its own framework; what several of them need, such as
`conversation`, imports no framework.
"""
