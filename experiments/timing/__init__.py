"""How fast it is lives here: the timing of a case and of first answers, both backends on a GPU, a scalar loop to beat,
the machine in words.

`benchmark` takes all of it, a report the machine in words.
"""
