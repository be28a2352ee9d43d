"""Conditions on columns: the same meaning as `conditions.evaluation`, a whole Arrow column at a time."""
