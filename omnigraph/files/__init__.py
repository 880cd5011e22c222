"""Files: the readers of configuration: bytes, YAML and dotenv, each strict.

bytes   the content of a file, or an error that says why it cannot be read
nodes   a YAML text as nodes; what could take long or nothing can hold is noted on the way
yaml    strict YAML: no aliases, duplicate or unknown keys; every problem with its line
dotenv  a file of variables, one `NAME=value` on each line, parsed strictly
"""
