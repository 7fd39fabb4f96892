"""What a simulation returns: the result, its file and its faces. Others take `Result`, and `file.whole_file`."""

from jaxbandit.results.result import Result

__all__ = ["Result"]
