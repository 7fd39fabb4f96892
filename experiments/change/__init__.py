"""Arms that change: the policies that are compared there, and the parts of `experiments.changing`.

`policies` says which are played, `growth` how regret grows with rounds and budget, `thesis` compares with a published
table, `segments` counts who wins at how many changes, and `chains` plays Markov arms that take turns.
"""
