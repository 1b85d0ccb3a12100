"""The door to numba: what is compiled is announced, what the cache holds is not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import numpy as np
from crowdveil.compiled import when_compiling
from crowdveil.kernels.sorting import first_above, sort

when_compiling(lambda: print("compiling"))
first_above(np.arange(3.0), 1.0)
sort(np.arange(3.0))
print("done")
"""


def test_compiling_is_announced_once_and_only_where_the_cache_is_empty(tmp_path: Path) -> None:
    def printed() -> list[str]:
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
        found = subprocess.run(
            [sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=environment, check=True
        )
        return found.stdout.split()

    assert printed() == ["compiling", "done"]
    assert printed() == ["done"]
