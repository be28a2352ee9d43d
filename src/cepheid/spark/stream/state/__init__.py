"""The state of a stream: a bucket of keys while it is worked on, how Spark's store keeps it, and reading it back."""
