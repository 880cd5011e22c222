"""Planner: the order in which a pattern is matched at the least cost.

estimate  about how many rows a condition lets through, and how many an edge leads to
cost      what the steps of a pattern take, in nanoseconds measured once
order     the cheapest order of a pattern's scans and expands
planner   a plan with its patterns in the cheapest order, and about how many rows to expect
"""
