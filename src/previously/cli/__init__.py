"""The command line: `previously`.

`main` starts it and `command_table` knows all commands; each command or group of commands is one module. It may import
everything; nobody imports it.
"""
