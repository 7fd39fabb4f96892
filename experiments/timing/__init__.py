"""How fast it is: the axes of rounds per second, first answers, calls and fits, and a scalar loop to beat.

`benchmark` takes all of it.
"""
