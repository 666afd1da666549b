"""The command line: `previously`."""
