"""What judging a policy is made of lives here: the policy from text, the arms that it plays, what is measured there.

A file each has the contract, the named problems, the space, the worst problems and speed; `comparison` says which
policies the runs tell apart; then come what all of it says in words, and the page.

`judge` takes all of it.
"""
