"""Report: a graph as one page of HTML that opens offline.

page     what is to be shown of a graph, as one HTML document that needs nothing from outside
diagram  the types of a schema as boxes in a circle, joined by their edges, as SVG
commits  the newest commits of some branches as a drawing with a lane for each branch, as SVG
"""
