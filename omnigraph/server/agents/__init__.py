"""Agents: what speaks MCP to the agents of a server; each request brings its own desk.

visit    one request of an agent: its graph within the limits of the server, and its desk
speaker  speaks MCP over HTTP, with the SDK
"""
