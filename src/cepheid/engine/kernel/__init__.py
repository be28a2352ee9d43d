"""The compiled part: the only room that imports numba. `drive` is its entrance."""
