"""What a simulation returns: the result, its file and its faces.

Others may take `Result`, `contents.stopped`, `file.whole_file`, `display.variant_names`, `result.join_times`, and what
`named_axes` offers.
"""

from jaxbandit.results.result import Result

__all__ = ["Result"]
