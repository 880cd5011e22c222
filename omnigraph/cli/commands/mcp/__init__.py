"""Mcp: a graph for an agent, and the entry by which its client finds it.

options  what says who an agent is, and where it works
serving  serves a graph on standard input and output
install  the entry for the configuration file of a client
family   the family `mcp`, which serves where no command is named
"""
