"""Algorithms: what the shape of a graph says of its nodes equals what networkx says."""
