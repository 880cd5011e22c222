"""Files: what configuration is read with: bytes, YAML and dotenv, each strict.

bytes   what a file holds, or an error that says why it cannot be read
yaml    YAML read strictly: no alias, no key twice, no unknown key; every problem with its line
dotenv  a file of variables, `NAME=value` on each line, read strictly
"""
