"""Mutations: what each statement does, what is refused, and what happens under races and kills."""
