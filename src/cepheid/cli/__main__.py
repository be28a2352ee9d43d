"""`python -m cepheid.cli`, for `spark-submit` and where the script is not on the PATH."""

import sys

from cepheid.cli.entry import main

sys.exit(main())
