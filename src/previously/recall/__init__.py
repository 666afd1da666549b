"""Recall: finding again, verbatim, what was said.

Pure; the table of word vectors is loaded outside and given. A message is indexed when it is written
(`index.index_entry`). A question goes through steps, each a function of values: `outline` (the index joined to a path)
→ `query.understand` → `rank` (words, candidates, vectors) → passages. `search` joins them over what any store gives.
It may import `text`, `core` and numpy; `storage` keeps its index, `runtime` asks it.
"""
