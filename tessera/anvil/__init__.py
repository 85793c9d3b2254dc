"""Anvil: the memory that conditions the next attempt.

`open_anvil` gives it, from a file or from a service. Nothing outside this package knows
which, or touches SQLite.
"""

from __future__ import annotations

import os
from pathlib import Path

from tessera.anvil.errors import ClaimError, StorageError
from tessera.anvil.interface import Anvil, Health, Page

__all__ = ["Anvil", "ClaimError", "Health", "Page", "StorageError", "open_anvil"]


def open_anvil(location: str | Path) -> Anvil:
    """The memory at a path (made if it isn't there), or at an `http://` address.

    The service's token is in TESSERA_ANVIL_TOKEN. Raises StorageError.
    """
    if str(location).startswith(("http://", "https://")):
        from tessera.anvil.client import Client

        return Client(str(location), os.environ.get("TESSERA_ANVIL_TOKEN"))
    from tessera.anvil.store import Store

    return Store(Path(location))
