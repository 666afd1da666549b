"""The performers: they read and write stores, ask models, and do what the pure layers decide.

It may import `storage`, `models`, `formats`, `settings` and the pure layers, but no concrete store or model: those are
given. `story`, `app` and `server` use it.
"""
