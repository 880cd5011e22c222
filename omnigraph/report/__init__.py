"""Report: a graph as one page of HTML that opens offline.

page     a report on a graph, as one HTML document that needs nothing from outside
diagram  the types of a schema as SVG, boxes in a circle joined by their edges
commits  the newest commits of some branches as SVG, with a lane for each branch
"""
