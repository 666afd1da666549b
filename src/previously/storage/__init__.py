"""Stores: where stories live. `store` holds the contract; every backend keeps it and passes the same suite."""
