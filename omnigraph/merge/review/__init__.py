"""Review: a branch as people look at it before it is merged.

page     what a branch would bring to another, counted by type and a page at a time
reviews  what was said about a branch, kept beside the graph and never in its history
record   what people said about a branch before it is merged, and what they decided
"""
