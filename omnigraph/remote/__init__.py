"""The handles of a graph that a server has; they answer as those of a graph at hand."""
