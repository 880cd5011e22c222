"""Turns: writers on one machine stand in line instead of racing; nothing depends on it.

locks        files of this machine that one thread of one process at a time has locked
branch_turn  writers of one branch take turns, in the order in which they came
flip_turn    those who change the manifest do it one at a time
"""
