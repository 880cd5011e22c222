"""Mcp: agents work on a graph by the Model Context Protocol; each tool calls a handle.

wording      what a model reads: values stay data, and an error says its code, place and hint
table        rows as a compact table within a number of tokens, and the cursor that goes on
desk         where an agent works: a graph, its own branch, and what it may do
tool         one tool: what it takes, which right it needs, and whether it changes anything
overview     the schema of a graph in few tokens, more or less of it
reading      the tools that read: schema, query, lint and get
finding      the tool that finds nodes by words, by meaning and by key
writing      the tools that write: change, resolve, load and branches
reviewing    the tools that compare, merge, undo and publish
proposing    the tools by which a branch is handed over to reviewers, and their words come back
prompt       a way to begin some work: what it takes, and the words for it
remembering  the tools and prompts of a graph that holds a memory: remember and recall
stored       one tool for each stored query, typed by its parameters
toolbox      the tools that an actor is shown, and how one is called
guide        the query language in few words, made from its own tables
shelf        what an agent can read beside tools: resources and prompts
protocol     tools, resources and prompts as a server of the SDK
stdio        one agent over standard input and output
clients      the entries for the configuration files of known clients
"""
