"""Recognition of a story in what a client sends: decisions about lists of messages. Pure."""
