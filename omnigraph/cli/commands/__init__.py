"""Commands: one module for each family of commands.

graph        the commands `init` and `snapshot`, and the families `branch` and `commit`
rows         commands that bring rows into a graph, change them, and take them out
read         runs a query and shows its rows, or how they come about
explore      the commands `search`, `neighbors` and `algo`: nodes found, around one, or by edges
query        checks queries, shows how they run, and runs those that are stored
schema       what a graph's types are, and become
merge        how branches differ, and how they join
history      the commands `changes` and `blame`, and the families `tag` and `run`
maintenance  how a graph is kept in good order
backup       a copy of a graph in another place, and back
report       a page of HTML about a graph that opens without a network
studio       a graph in the browser of this machine
cluster      many graphs as one deployment: declared, planned, applied, rolled back
machine      commands about this machine and its user, most of them without a graph
policy       whether a policy is right, whether it decides as expected, and why
memory       what a graph remembers: facts noted, recalled and ended, and contradictions
mcp          a graph for an agent, and the entry by which its client finds it
shell        queries and changes of one graph, typed one after the other
"""
