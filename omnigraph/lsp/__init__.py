"""Lsp: the language server `omnigraph lsp`, by which editors know both languages.

schemas   which schema the queries of a file are written for
findings  what is wrong with a text, as places in it
server    the language server itself, over standard input and output
"""
