"""What Cepheid keeps in the directory of a checkpoint beside Spark's own files."""
