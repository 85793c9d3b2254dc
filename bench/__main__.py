"""Run the benches that are named, or all: `python -m bench [critic] [repair] [anvil] [flags]`.

Knows their names alone. Each prints its own figures with goal, measured and met; flags go
to the bench that is named, so they need exactly one name. Ends with exit code 1 when a
goal was missed.
"""

from __future__ import annotations

import importlib
import sys

BENCHES = ("critic", "repair", "anvil")


def main() -> int:
    """Run them one after another, so that none disturbs another's figures."""
    words = sys.argv[1:]
    flags = next((i for i, word in enumerate(words) if word.startswith("-")), len(words))
    names = words[:flags] or list(BENCHES)
    unknown = [name for name in names if name not in BENCHES]
    if unknown or (words[flags:] and len(names) != 1):
        wrong = f"no bench is called {unknown[0]}" if unknown else "flags need one bench's name"
        sys.exit(
            f"{wrong}\nusage: python -m bench [{'] ['.join(BENCHES)}] [flags of the one named]"
        )
    missed = 0
    for name in names:
        sys.stdout.write(f"== {name}\n")
        sys.stdout.flush()
        # Each bench reads its flags from sys.argv, as it does when run alone.
        sys.argv = [f"bench.{name}", *words[flags:]]
        missed |= int(importlib.import_module(f"bench.{name}").main() or 0)
    return missed


if __name__ == "__main__":
    sys.exit(main())
