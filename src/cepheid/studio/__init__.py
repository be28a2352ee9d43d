"""The studio: a local page on which a pattern grows on a sample of one's own data.

The chain: `sample` reads rows, `trying` runs a pattern text on them and says everything at once, `copies` writes it as
Python, job or rule, `server` serves the page and answers it on the loopback address. The page is in `static`: no script
or style from elsewhere, no build step.
"""
