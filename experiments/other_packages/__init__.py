"""Other packages live here: a job file for each, which its own Python runs, and which of their policies we have, too.

`peers` takes `packages` and `pairs`. A job file imports nothing of ours but `job_files`, as jaxbandit is not installed
where it runs.
"""
