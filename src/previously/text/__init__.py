"""Rules about language: words, sentences, numbers, names, times.

Pure; it may import `core`. Each rule is written once: every package that needs one asks here. The lists of words are
data in `text/data`.
"""
