"""The memory proxy: an OpenAI-compatible server that remembers. Needs the extra `server`."""
