"""What things are: merging entries, finding them by their keys, threads and the current state. Pure."""
