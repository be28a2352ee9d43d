"""A pattern as a picture."""
