"""Remote: the handles of a graph that a server has.

graph        a graph that a server has; the handle answers as that of a graph at hand
view         a server's graph at one commit to read, and a branch of it to read and to change
maintenance  what optimize, coverage, cleanup and fsck gave, read from what a server sends
sending      whatever a user hands to a load, as JSON lines for a server
"""
