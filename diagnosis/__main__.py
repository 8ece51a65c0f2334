"""``python -m diagnosis`` is the command ``diagnosis``."""

from diagnosis.cli import main

if __name__ == "__main__":
    main()
