"""Races: many processes and threads on one graph; nothing is lost, nobody loses unheard."""
