"""A graph as one page of HTML that opens offline: its schema, history, changes and results."""
