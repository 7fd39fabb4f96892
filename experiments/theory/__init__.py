"""The lemmas of docs/optimality.md in numbers live here: likelihoods and types of two-state chains, and the checks.

`optimality` takes `lemmas`.
"""
