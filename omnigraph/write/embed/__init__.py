"""Embed: writes vectors into a file of records, without a graph.

seed        the spec of an offline embed: which fields of which types, from which file to which
row_filter  selects the rows that an offline embed fills, by type and by the value of a field
embed       writes a file of records again, with vectors added or removed
parts       checks the splits of a file, and writes them as the parts of another
rewrite     decides from one line alone what an offline embed does to it
splice      adds or removes a member of a JSON object without changing any other byte
"""
