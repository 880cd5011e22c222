"""Machine: commands about this machine and its user, most of them without a graph.

login       the commands `login` and `logout`: the token for a server, kept for later commands
example     a bundled example as a folder of one's own, to run and to change
explain     what an error code means, as the documentation says it
completion  the commands `completion` and `lsp`: what shells complete by, and a server for editors
doctor      the command `doctor`, whether all is fit for use, and the family `spark`
"""
