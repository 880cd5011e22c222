"""Syntax: what both languages share: text, tokens, literals and diagnostics.

source        text that is decoded and small enough to be parsed
lexer         text to tokens, the same for both languages
cursor        a position in the tokens of a text, with look-ahead; both parsers extend it
literal       a value as written in a text, and how it is read and printed
json_numbers  refuses what Python reads as a number and JSON does not have, or no float holds
names         branch names in normal form; policy and storage see no other form
problems      the mistakes found in one text, bounded in number
"""
