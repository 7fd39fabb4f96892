"""What judging a policy is made of lives here: the policy from text, the arms that it plays, and a chapter of the report
each for the named problems, a space of problems, the worst ones, and speed; what all of it says in words; the page.

`judge` takes all of it.
"""
