"""Stores: where stories live.

`store` is the one class, over any database: `read` and `write` run work on `Tables` inside one transaction. `sqlite`
and `postgres` are the databases; only `app` names them. It may import `recall` and `core`. `runtime` and `story` use
`store` and are handed `Tables`; the modules below `tables` are its own.
"""
