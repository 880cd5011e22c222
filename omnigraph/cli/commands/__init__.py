"""Commands: one module for each family of commands.

graph        the commands `init` and `snapshot`, and the families `branch` and `commit`
importing    a graph from data that nobody described
data         rows from files into a branch
read         runs a query and shows its rows, or how they come about
explore      the commands `search`, `neighbors` and `algo`: nodes found, around one, or by edges
change       the commands `change` and `resolve`: a mutation, and two nodes that become one
query        the commands `query lint`, `query check` and `query explain`
schema       what a graph's types are, and become
merge        how branches differ, and how they join
history      the commands `changes` and `blame`, and the families `tag` and `run`
maintenance  how a graph is kept in good order
backup       a copy of a graph in another place, and back
export       the rows of a branch or commit, as lines or as files
report       a page of HTML about a graph that opens without a network
studio       a graph in the browser of this machine
blob         writes the content of one Blob property
embed        vectors for the records of a file, without a graph
cluster      many graphs as one deployment: declared, planned, applied, rolled back
login        the commands `login` and `logout`: the token for a server, kept for later commands
policy       whether a policy is right, whether it decides as expected, and why
memory       what a graph remembers: facts noted, recalled and ended, and contradictions
mcp          a graph for an agent, and the entry by which its client finds it
shell        queries and changes of one graph, typed one after the other
example      a bundled example as a folder of one's own, to run and to change
explain      what an error code means, as the documentation says it
completion   the commands `completion` and `lsp`: what shells complete by, and a server for editors
doctor       the command `doctor`, whether all is fit for use, and the family `spark`
"""
