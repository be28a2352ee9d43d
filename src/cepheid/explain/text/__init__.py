"""`explain`: a pattern in words."""
