"""Events in memory: arranged, sorted, matched, and matches assembled from them."""
