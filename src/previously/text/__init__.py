"""Rules about language: words, sentences, numbers, names, times. Pure; each rule is written once, and others ask
here."""
