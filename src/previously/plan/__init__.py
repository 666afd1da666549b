"""What is to be folded next on a branch: pure decisions over a snapshot, made into steps."""
