"""Report: a graph as one page of HTML that opens offline.

page     a report on a graph, as one HTML document that needs nothing from outside
diagram  the types of a schema as SVG, boxes in layers joined by their edges
layout   places of the types of a schema in layers, in groups below each other that fit a page
authors  who made the changes between two commits, property by property
commits  the newest commits of some branches as a list, with a lane for each branch
"""
