"""History: the graph of commits walked, abbreviated, and kept or let go.

short_ids  the commits that the beginning of an id, or its last eight characters, can mean
ancestry   which commits came from which, found without reading the commits themselves
walk       follows parents, over commits or over what one table saw of them
lineage    the commits of a branch that changed a table, each writing on the one before
history    walks the graph of commits, at a cost that grows with the distance walked
retention  which commits keep their tables when a graph is cleaned up
"""
