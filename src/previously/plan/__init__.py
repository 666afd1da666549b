"""Plans: pure decisions over a snapshot about what is to be folded next, made into steps."""
