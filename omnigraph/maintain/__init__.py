"""Maintain: keeps a graph small, indexed and sound.

reports   what coverage, optimize, cleanup and fsck found or did
optimize  the tables of a branch in few large fragments, all indexed, as one physical commit
coverage  which rows of a graph are in the indexes that its schema asks for, and why not all
cleanup   removes the tables of commits that are not kept, and what crashed writers left
fsck      looks at everything that a graph is made of and names all damage; it changes nothing
"""
