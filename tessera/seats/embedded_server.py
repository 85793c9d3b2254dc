"""The embedded server's process: llama.cpp's own server, from the package `xllamacpp`.

Reads its orders as one JSON line on stdin (so that the key is in no argument list), answers
with one on stdout, and ends when its stdin does, also when the parent was killed. Whatever
the library prints goes where stderr goes, which is a file.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
from typing import Any


def threads() -> int:
    """One less than the processors we may use. llama.cpp's threads wait for each other in a
    busy loop, so one that has to share its processor with cargo slows all of them down: on 2
    processors under load, 2 threads wrote 0.7 tokens a second and 1 thread wrote 23 (idle:
    31 and 21)."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, (cores or 1) - 1)


def serve() -> None:
    """Run the server until stdin ends. What the library prints goes where stderr goes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    orders = json.loads(sys.stdin.readline())
    library: Any = importlib.import_module("xllamacpp")
    parameters = library.CommonParams()
    parameters.model.path = orders["model"]
    parameters.model_alias = {orders["alias"]}
    parameters.n_ctx = orders["window"]
    parameters.n_parallel = 1
    parameters.api_keys = [orders["key"]]
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.warmup = False
    parameters.cpuparams.n_threads = threads()
    parameters.cpuparams_batch.n_threads = threads()
    try:
        server = library.Server(parameters)
        said = {"url": server.listening_address}
    except (RuntimeError, ValueError, OSError) as error:
        said = {"error": str(error)}
    print(json.dumps(said), file=answer, flush=True)
    answer.close()
    sys.stdin.read()
    # The library's own farewell can hang on a reply that nobody reads any more.
    os._exit(0)


if __name__ == "__main__":
    serve()
