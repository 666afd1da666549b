"""Memory of one branch, read from a snapshot: pure and synchronous."""
