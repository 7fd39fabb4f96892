"""How fast lives here: the timing of one case, on a GPU of both backends, a scalar loop to beat, and what machine this is.

The benchmark takes all of it, and a report the description of the machine.
"""
