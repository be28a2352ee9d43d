"""An automaton as flat arrays for the kernel. Nothing here is compiled."""
