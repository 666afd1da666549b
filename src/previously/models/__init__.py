"""Model clients: who answers when a fold asks. `client` holds the contract; the pure modules beside it hold all that is
decided about the wire, and only `openai_compatible` and `local` touch a network or a process."""
