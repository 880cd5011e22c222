"""Planning: a checked query becomes a plan, is made cheaper, and explained.

lower    a checked query to a plan, in a fixed order and without optimization
tail     lowers the part after the match: ranking, grouping, order, limit, projection
caution  conditions that can fail, in an order that does not depend on how they are written
rewrite  small rules that make a plan cheaper and keep its meaning
arrange  the patterns of a plan as graphs of variables and links, and back in any order
explain  a plan as text for people and as JSON for programs
"""
