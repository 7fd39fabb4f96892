"""Other packages live here: a Python of their own, the script that it runs, and what they have in common with ours.

Beside learners of decision processes stand scalar loops of our own, too. Commands take all of it. The scripts import
nothing of ours, as they run where jaxbandit is not installed.
"""
