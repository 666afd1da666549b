"""Checks of what is published: the built package in empty environments, and wheels of what it needs."""
