"""A chunk of rounds as one GPU kernel. Others may take `play_chunk_in_kernel`; nothing else knows how it works."""

from jaxbandit.fast.gpu.kernel import play_chunk_in_kernel

__all__ = ["play_chunk_in_kernel"]
