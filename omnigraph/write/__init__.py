"""Write: mutations and loads become proposals for one commit.

receipt   what a change was meant to do, and what it did
mutation  a mutation becomes one commit, or nothing
mutate    runs the statements of a mutation, each on what the earlier ones left
draft     what was changed so far, on top of a snapshot that does not change
filling   `@embed` properties get their vectors from the text beside them
validate  whether a graph still holds to its schema after a change, at the cost of the change
indexing  the indexes of tables that a job made, their segments built by tasks
load      any number of rows become one commit, or nothing
embed     a file of records becomes one whose rows have vectors; no graph is needed
"""
