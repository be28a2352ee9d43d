"""Sets of rules on Spark DataFrames: one scan, each distinct condition computed once, one move of the rows."""
