"""Budgets: which restless arms that all pay are played with M of K plays a round, and how far from the bound that is.

`problems` says what is played by whom, what bounds it and what its limit for many arms is; `gaps` has the tables.
"""
