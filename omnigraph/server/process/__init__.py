"""Process: the processes of a server: several on one address, and what each may open.

workers      several processes that serve one address, started again when one dies
shared       what the workers of one server know of each other: turns of actors, and counts
sides        actors whose requests are costly are served by workers that give way to the others
moves        an open connection goes from one worker to another, and its client sees nothing of it
descriptors  how many files and sockets the process may open, and what happens at the last
"""
