"""The page about a graph."""
