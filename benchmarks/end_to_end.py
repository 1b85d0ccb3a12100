"""`crowdveil release` from Parquet to bundle: seconds, and peak memory for each claim beyond a tiny run's.

Run: python benchmarks/end_to_end.py [claims] [claims per object] [priscrowd | certified]
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from crowdveil.files import read_claims
from crowdveil.randomness import seeded


def write_claims(path: Path, count: int, per_object: int) -> None:
    """Sparse claims: users differ from object to object."""
    objects, users = count // per_object, max(100, count // 100)
    rng = seeded(1)
    first = (rng.stream("users", purpose="benchmark").uniforms(objects) * users).astype(np.int64)
    user = (first[:, None] + 7 * np.arange(per_object)) % users
    order = rng.stream("order", purpose="benchmark").uniforms(objects * per_object).argsort()
    pl.DataFrame(
        {
            "object": pl.Series(np.repeat(np.arange(objects), per_object)[order]),
            "user": pl.Series(user.ravel()[order]),
            "value": rng.stream("values", purpose="benchmark").normals(objects * per_object),
        }
    ).with_columns(
        pl.format("object-{}", "object").alias("object"), pl.format("user-{}", "user").alias("user")
    ).write_parquet(path)


OPTIONS = {
    "priscrowd": ["--method", "priscrowd"],
    "certified": ["--epsilon", "1", "--range", "-5:5"],
}


def run_release(claims: Path, out: Path, method: str) -> tuple[float, float]:
    """Wall seconds and peak resident bytes of one command, with a ledger of its own."""
    begin = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "crowdveil", "release", claims, *OPTIONS[method], "-o", out, "--force"],
        stdout=subprocess.DEVNULL,
        env={**os.environ, "XDG_STATE_HOME": str(out.parent)},
    )
    _, status, used = os.wait4(process.pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    return time.perf_counter() - begin, used.ru_maxrss * 1024.0


def main() -> None:
    count = int(float(sys.argv[1])) if len(sys.argv) > 1 else 1_000_000
    per_object = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    method = sys.argv[3] if len(sys.argv) > 3 else "priscrowd"
    with tempfile.TemporaryDirectory() as folder:
        small, large = Path(folder) / "small.parquet", Path(folder) / "large.parquet"
        write_claims(small, 2000, 20)
        write_claims(large, count, per_object)
        out = Path(folder) / "out"
        run_release(small, out, method)  # compile
        base = run_release(small, out, method)
        runs = [run_release(large, out, method) for _ in range(3)]
        begin = time.perf_counter()
        read_claims(str(large))
        read = time.perf_counter() - begin
    print(
        json.dumps(
            {
                "method": method,
                "claims": count,
                "per_object": per_object,
                "seconds": sorted(seconds for seconds, _ in runs)[1],
                "seconds_of_2000_claims": base[0],
                "bytes_per_claim": (max(peak for _, peak in runs) - base[1]) / count,
                "seconds_to_read_and_code": read,
                "own_peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    main()
