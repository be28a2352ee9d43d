"""Matches on a time axis."""
