"""Script, run, draw, tally and prove the routing of agent graphs.

The public names stand in ``__init__.pyi``; each module is loaded when the first of its names is used.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
