"""Notebook: pictures of graphs, schemas and changes, as widgets where a notebook runs them.

picture  something to look at, as HTML that stands still and as a widget that answers
drawing  nodes and edges as SVG, placed so that what is joined is near
widget   the widget of a picture; the only module that imports anywidget
"""
