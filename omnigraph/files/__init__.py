"""Files: the readers of configuration: bytes, YAML and dotenv, each strict.

bytes   the content of a file, or an error that says why it cannot be read
yaml    strict YAML: no aliases, duplicate or unknown keys; every problem with its line
dotenv  a file of variables, one `NAME=value` on each line, parsed strictly
"""
