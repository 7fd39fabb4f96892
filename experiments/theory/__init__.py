"""The numbers behind docs/optimality.md live here: likelihoods and types of two-state chains, the policy as a loop, and
checks of the lemmas.

Commands take `lemmas`.
"""
