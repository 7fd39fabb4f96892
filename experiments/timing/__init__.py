"""How fast it is: first answers, calls, fits, the share of indices that are computed, and a scalar loop to beat.

`benchmark` takes all of it.
"""
