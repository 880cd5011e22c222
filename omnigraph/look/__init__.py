"""Look: the colours, sizes and faces that the studio, the report and notebooks share.

style    the tokens as CSS for a page or for a part of somebody else's page
colours  a type keeps its colour wherever it is drawn
words    numbers with their nouns
"""
