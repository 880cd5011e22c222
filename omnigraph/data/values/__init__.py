"""Values: columns of typed values: converted, compared, checked and looked up.

columns     loosely typed Arrow columns become columns of the types that tables hold
comparison  columns of values with each other, by their exact values, null being unknown
equality    which rows of two tables hold the same, bit by bit, null being the same as null
rules       what every row of a type must hold by itself, each rule one function over columns
ids         every row gets the id of its key, the id it was given, or a new one
lookup      the rows of a table that have certain values in one column
recast      stored columns in the types that files and Spark have for the same values
"""
