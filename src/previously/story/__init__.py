"""A story as its users see it: its transcript, its memory, and what people do to both."""
