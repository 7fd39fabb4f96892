"""What a simulation returns: `Result`, and functions that display it, write it to a file or label its axes.

Others may take `Result`, `display.stopped`, `display.variant_names`, `file.file_name`, `file.whole_file`,
`result.join_times`, and what `named_axes` offers.
"""

from jaxbandit.results.result import Result

__all__ = ["Result"]
