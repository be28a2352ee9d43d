"""`python -m cepheid.cli`, and the file that `spark-submit` takes: `cepheid --script` prints its path."""

import sys
from pathlib import Path

if Path(sys.path[0] or ".").resolve() == Path(__file__).resolve().parent:
    del sys.path[0]  # run as a file: the modules beside it are not for everybody to import

from cepheid.cli import main

sys.exit(main())
