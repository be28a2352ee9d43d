"""Patterns on streaming DataFrames."""
