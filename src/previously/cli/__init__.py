"""The command line: `previously`.

`main` starts it and `command_table` knows all commands; each command or group of commands is one module. It may import
everything; nobody imports it.
"""

DONE, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
"""Exit codes. A shell gives 128 and the number of the signal for a command that a signal ended; Ctrl-C is 2."""
