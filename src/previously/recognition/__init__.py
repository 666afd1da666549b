"""Recognition of a story in what a client sends: decisions about lists of messages.

Pure; it may import `core`. `runtime.follow_client` performs what it decides, and the proxy reads requests with it.
"""
