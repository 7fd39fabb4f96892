"""The paper lives here as data: scenarios, claims, figures, propositions, slips, and how its policies are compared.

Commands take all of it, other rooms the scenarios.
"""
