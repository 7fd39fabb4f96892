"""The paper lives here as data: scenarios, claims, figures, slips, and how its policies are compared;
`scenarios` also has policies and arms of our own that are set beside them.

Commands take all of it, other rooms the scenarios.
"""
