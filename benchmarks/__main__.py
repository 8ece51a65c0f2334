"""Run all benchmarks: ``python -m benchmarks [--json]``."""

from __future__ import annotations

import argparse
import json

from benchmarks import contract, exploration, fanout, imports, loop, memory, mutation, scale, table, traces


def main() -> None:
    """Measure everything and print one table; a missed bound is shown, and is no error."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    chosen = parser.parse_args()
    rows = [*loop.rows(), *fanout.rows(), *contract.rows(), *mutation.rows(), *memory.rows(), *imports.rows()]
    rows += [*exploration.rows(), *traces.rows(), *scale.rows()]
    if chosen.json:
        print(json.dumps([row.record() for row in rows], indent=2))
    else:
        print(table.text(rows))


if __name__ == "__main__":
    main()
