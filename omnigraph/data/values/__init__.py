"""Values: columns of typed values: converted, compared, checked and looked up.

columns     loosely typed Arrow columns become columns of the types that tables hold
ids         every row gets the id of its key, the id it came with, or a new one
rules       what every row of a type must hold by itself, each rule one function over columns
computing   functions and operators of values over columns, exactly or not at all
floats      nested operators of floats over columns, a block of rows at a time
capacity    what a column cannot hold is too much for a query: more than 2 GiB of text
comparison  columns compared value by value, exactly, null meaning unknown
sums        sums of floats, exactly rounded, so that they do not depend on the order of the rows
equality    which rows of two tables hold the same values, bit by bit, null equal to null
lookup      the rows of a table that have certain values in one column
recast      stored columns in the types that files and Spark have for the same values
soundness   refuses columns of files and answers that are not what Arrow takes them for
"""
