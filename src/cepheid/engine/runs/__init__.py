"""The kernel's memory of runs: making, growing, reading and saving it."""
