"""A text game that remembers: games as files, turns played by several agents, saves, and automatic play.

The game knows nothing of a terminal: it tells what happens as events, and whoever shows them is another's concern. It
stands outermost, beside the server, and may import everything below; only the command starts it. `game`, `progress`,
`answers`, `agents` and `leaks` decide and are pure; `turn` asks, and `session` keeps.
"""
