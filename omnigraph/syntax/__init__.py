"""The lexical ground and the diagnostics that both languages share."""
