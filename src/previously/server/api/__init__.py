"""The API at `/api/v1`: everything the command line can do, as JSON over HTTP.

A module holds the routes of one noun. Each reads what is asked for, calls the story or the memory, and gives the
answer its shape (`story.json_shapes`). Whatever decides something belongs below.
"""
