"""Local: operations run on a graph at hand, each on an `Access` that asks the policy first.

backend      runs every operation by the function for it
places       which snapshot an operation reads, and what the policy says to that
reads        queries, rows, schemas and single values
explore      nodes that a text means, and the nodes around one
algorithms   what the shape of a graph says of its nodes, seen or written
editing      what an editor asks about a text: its problems, and what may come next
writes       mutations and loads
queries      stored queries, each found and run if the policy allows it
branches     branches, tags, merges, reverts and runs
reviews      where branches stand before they are merged, and what was said about them
changes      commits, and what differs between them
rights       what the policy lets the actor do
maintenance  schemas, indexes, files and the health of a graph
"""
