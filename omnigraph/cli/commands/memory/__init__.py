"""Memory: what a graph remembers: facts noted, recalled and ended, and contradictions.

family  the family `memory`
"""
