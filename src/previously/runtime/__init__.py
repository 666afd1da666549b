"""The loop that performs what the pure layers ask for."""
