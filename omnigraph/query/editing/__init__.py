"""Editing: what helps people who write queries; the texts need not parse yet.

words     every word of both languages and what it means
scope     the names of the query around a place of a text
complete  what can stand at a place of a query
"""
