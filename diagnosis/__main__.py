"""``python -m diagnosis`` is the command ``diagnosis``."""

import sys


def main() -> None:
    """Run the command with the arguments of the process."""
    try:
        from diagnosis.cli import main as command
    except KeyboardInterrupt:  # a key pressed while the package was still being loaded
        sys.exit(2)
    command()


if __name__ == "__main__":
    main()
