"""Finding: rows of a table that words, a vector or another version point to.

delta      the rows in which two versions of a table differ, found from their fragments
row_place  where a version stores a row, and where the version before it stored the row
texts      finds rows by words, in the text index of a table or in one made in memory
nearest    finds rows by vector in the index of a table, and measures its recall
"""
