"""The faults of the proxy behind real agents that are known, by promise and client. Whoever mends one takes it out."""

FAULTS: dict[tuple[str | bool, str], str] = {}
