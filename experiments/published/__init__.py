"""The paper as data lives here: its scenarios, claims, figures, propositions and slips, and the comparison of its policies.

Others take scenarios and what is said of them; nothing here knows which command asks.
"""
