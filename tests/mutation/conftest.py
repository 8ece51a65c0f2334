"""The small graphs of the verification bench serve here as well."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "verify"))
