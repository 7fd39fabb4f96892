"""What judging a policy is made of lives here: the policy from text, the arms that it plays, what is measured there.

A file each has the named problems, the space and the worst problems; `playing` also checks the contract and times the
policies, and `comparison` says which of them the runs tell apart. Then come what all of it says in words, and the page.

`judge` takes all of it.
"""
