"""The memory proxy: an OpenAI-compatible server that remembers.

Needs the extra `server`. It may import `app` and everything below. Only the command `serve` imports it, and of it only
`options` and `process`; `chat` and `turn` are where to begin to read.
"""
