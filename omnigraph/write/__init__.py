"""Write: mutations and loads become proposals for one commit.

mutation  publishes a mutation as one commit, or changes nothing
mutate    runs the statements of a mutation, each on what the earlier ones left
draft     the rows changed so far, on top of a snapshot that does not change
resolve   makes two nodes of one type one, with the edges of both
resolved  what became of two nodes that are one
assign    values of one property for rows by their ids, as one commit
upsert    a row that exists keeps what a change does not name
again     the rows of types whose vectors are to be made anew, without those vectors
filling   fills `@embed` properties with vectors of the text beside them
reads     the rows that a change depends on, and whether they moved since it was planned
validate  checks a changed graph against its schema, at a cost that grows with the change
checked   a draft that breaks no rule, as the writes of one commit
unseen    what broke a rule, as it is told to those who may not read the branch
counts    how many rows a change inserted, updated, deleted and found unchanged
receipt   what a change did
noted     what a commit keeps of its change for when it is repeated, and the receipt made of it
load      any number of rows become one commit, or nothing
indexing  builds the indexes of tables that a job wrote, segment by segment in tasks
infer     a schema for data that nobody described, which lints and which the data fits
embed     writes vectors into a file of records, without a graph
"""
