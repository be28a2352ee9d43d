"""Patterns on Spark DataFrames. The only room that imports pyspark."""
