"""What is remembered of one branch: pure reads of a snapshot."""
