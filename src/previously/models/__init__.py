"""Model clients: they answer when a memory asks a model.

`client` holds the contract, `http` and `local` keep it, `retry` decides about asking again. How requests and replies
look on the wire is decided in `previously.wire`. It may import `wire`, `recall` and `core`. Only `app` names `http` or
`local`; others are given a client.
"""
