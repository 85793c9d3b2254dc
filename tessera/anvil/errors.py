"""What can go wrong with the memory, as one typed exception.

Knows the kinds and their words. Never looks at a database.
"""

from __future__ import annotations


class StorageError(Exception):
    """Anvil could not read or write; nothing of the operation was kept.

    `kind` is one of `storage_full`, `storage_locked`, `storage_damaged`, `storage_newer`,
    `storage_readonly`, `storage_foreign` (a database, but not Anvil's), `storage_io`,
    `storage_unreachable` (the service is away) and `storage_refused` (the service wants a
    token, or another one). `retryable` says whether waiting may help.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message

    @property
    def retryable(self) -> bool:
        """Whether the same operation may work later without anybody's help."""
        return self.kind in ("storage_locked", "storage_unreachable")


class ClaimError(ValueError):
    """A claim that cannot be kept as it is; the message names the field and what is wrong."""
