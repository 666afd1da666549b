"""View building: which messages the model will see, each with its reason and its cost.

Pure; it may import `wire`, `text` and `core`. `build` is the way in, `render` the last step. `runtime.views` gives it
what it needs; `story`, `server` and `cli` read the `View` that comes out.
"""
