"""Engines run loops over blocks of objects: `run` over blocks, `spread` over ranges, `sum` over blocks."""

from crowdveil.engines.local import LocalEngine
from crowdveil.engines.threads import cores, on_threads

__all__ = ["LocalEngine", "cores", "on_threads"]
