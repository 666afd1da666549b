"""The command line: `previously`."""

DONE, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
"""Exit codes. A shell gives 128 and the number of the signal for a command that a signal ended; Ctrl-C is 2."""
