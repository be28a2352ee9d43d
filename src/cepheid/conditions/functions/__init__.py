"""The functions of the portable subset: one table, of which each entry says all that is known of a function.

To add a function, add its entry to the module of its kind, and its name to the list in docs/conditions.md, which a test
compares with the table.
"""
