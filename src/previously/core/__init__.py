"""The pure heart: values and decisions about messages, paths, spans, alignment, words and tokens.

Standard library only. No clock, randomness, I/O, async or logging: everything a function needs comes as an argument,
everything it decides goes back as a value. Every package may use every module.
"""
