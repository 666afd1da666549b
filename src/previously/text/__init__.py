"""What is known about language: sentences, numbers, names. Pure; each rule is written once, and others ask here."""
