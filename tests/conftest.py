"""Settings that all tests share."""

from hypothesis import settings

# The same examples on every machine, and no failure because one of them is slow on a busy one.
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable")
