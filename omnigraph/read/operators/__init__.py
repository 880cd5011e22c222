"""Operators: one module for each step of a plan.

scan       finds the nodes that a pattern starts from
traverse   follows edges from the rows' nodes to others
intersect  targets that several bound nodes lead to at once, as in the last corner of a triangle
walk       which nodes are within so many hops of others, each at its shortest distance
paths      the shortest paths between nodes, by the number of their edges or by a weight
meeting    the shortest paths between two nodes, searched from both of them until they meet
counting   variables that nothing reads multiply the weights of rows instead of being bound
evaluate   expressions and predicates over rows, a whole column at a time
search     which rows match a text, and how rows rank by words, by meaning, or by both
group      rows with the same keys become one
collect    the values of each group's rows as a list, in order, objects and lists in it too
aggregate  counts, sums, averages and extremes of the rows of each group
order      sorts rows by their columns, and cuts them to the first few
project    the columns of a result, whole nodes and edges as objects
"""
