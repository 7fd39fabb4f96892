"""How fast it is lives here: the timing of a case, of first answers and of calls, the share of indices that
are computed, a scalar loop to beat, the machine.

`benchmark` takes most of it, a report the machine in words, `peers` the rate of one processor.
"""
