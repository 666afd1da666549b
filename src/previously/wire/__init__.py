"""The interfaces of models on the wire, without a connection: requests, messages, replies, streams and errors.

Pure; it may import `text` and `core`. `chat`, `anthropic` and `responses` write messages as the three interfaces take
them and read them back; `reply` is one value for what a model said, whatever the interface; `sse` reads it while its
bytes pass by; `interface` says what tells the three apart. `models`, `formats`, `testing` and `server` use it.
"""
