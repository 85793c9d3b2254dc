"""Writing the threshold of the calibration signal to a tessera.toml.

The rest of the file stays as it is, comments too.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import tomlkit
from tomlkit.exceptions import TOMLKitError

from tessera.errors import InputError


def write_threshold(file: Path, threshold: int) -> bool:
    """Set `signal.threshold`; whether that changed anything. Makes the file if there is none.

    Raises InputError for a file that is no TOML, or can't be written.
    """
    try:
        before = file.read_text(encoding="utf-8") if file.exists() else ""
        document = tomlkit.parse(before)
        if "signal" not in document:
            document["signal"] = tomlkit.table()
        document["signal"]["threshold"] = threshold
        after = tomlkit.dumps(document)
        if after == before:
            return False
        _replace(file, after)
    except TOMLKitError as error:
        raise InputError(str(error), "mend the file first", file=file) from error
    except OSError as error:
        raise InputError(f"cannot be written: {error}", file=file) from error
    return True


def _replace(file: Path, text: str) -> None:
    file = file.resolve()
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", newline="", dir=file.parent, prefix=".tessera-", delete=False
    ) as made:
        made.write(text)
    made_file = Path(made.name)
    made_file.chmod(file.stat().st_mode if file.exists() else 0o644)
    made_file.replace(file)
