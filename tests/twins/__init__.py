"""Readable twins of kernels that no reader needs: the specification, held against the kernel by the tests."""
