"""Memory written without a model: quotations of a story, the brief of an agent's conversation."""
