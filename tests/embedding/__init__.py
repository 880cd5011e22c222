"""Embedding: the providers stand on this machine, everything else is real."""
