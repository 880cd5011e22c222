"""Monitoring: what the server says of itself while it runs.

health   whether the server at an address of this machine answers
logs     one line of JSON for each thing that happened, with no token and no secret in it
metrics  what the server counts, as the text that Prometheus reads
"""
