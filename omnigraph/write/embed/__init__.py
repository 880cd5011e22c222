"""Embed: a file of records becomes one whose rows have vectors; no graph is needed.

embed       a file of records becomes one whose rows have their vectors; no graph is needed
seed        which fields of which types an offline embed fills, and from which file to which
row_filter  the rows that an offline embed looks at, by type and by the value of a field
rewrite     what an offline embed does to each line of a file, decided from the line alone
splice      a member of a JSON object is put in or taken out, and no other byte changes
parts       the splits of a file, checked, and written anew as the parts of another file
"""
