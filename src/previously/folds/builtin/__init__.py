"""Memory written without a model: quotations of a story, the brief of an agent's conversation.

Only folds write with it. `quotes` is also for those who read memory: it renumbers quotations when a path has changed.
"""
