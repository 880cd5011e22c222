"""Process: the processes of a server: several on one address, and what each may open.

workers      several processes that serve one address, started again when one dies
shared       what the workers of one server know of each other: turns of actors, and counts
descriptors  how many files and sockets the process may open, and what happens at the last
"""
