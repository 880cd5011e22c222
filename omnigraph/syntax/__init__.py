"""Syntax: the lexical ground and the diagnostics that both languages share.

source    checks that a text can be read at all: encoding and size
lexer     text to tokens, the same for both languages
cursor    walks the tokens of one text with any look-ahead; the base of both parsers
literal   a value written in a text, and how it is read and printed
names     the one form of a branch name, through which each goes before policy and storage
problems  what is found wrong in one text, bounded in number
"""
