"""The matcher over columns: arrange a table into partitions, match them, assemble the answer as a table again."""
