"""`python -m previously` is the command `previously`."""

from previously.cli.main import run

if __name__ == "__main__":
    run()
