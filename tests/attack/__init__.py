"""Attack: kills, faults, floods and hostile requests against a live server, and what has to hold.

server    the command of the server, whose store fails and which dies now and then
target    a server that is killed, stopped and started again, and what its lives leave behind
asking    requests that are sent again until their outcome is known
actors    writers, agents, readers and caretakers, each with a model of what was acknowledged
hostile   uploads, queries and connections that nobody should send
campaign  all of them for some time, and then the whole graph against the models
"""
