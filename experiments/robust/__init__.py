"""Policies on random arms live here: those that are compared, and what is asked of each space.

The commands `robustness` and `candidates` take all of it.
"""
