"""The models of branches that the tests of verification draw are put to use here, too."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "verify"))
