"""A story as its users see it: its transcript, its memory, and what people do to both.

`story.Story` is made of the other modules here, a part each. It may import `runtime`, `storage`, `models`, `formats`,
`settings` and the pure layers; `app` makes stories, `server` and `cli` are given them.
"""
