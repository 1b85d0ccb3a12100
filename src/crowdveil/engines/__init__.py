"""Where blocks of objects are worked on. An engine has two verbs: run over blocks, and sum over blocks."""

from crowdveil.engines.local import LocalEngine
from crowdveil.engines.threads import cores, on_threads

__all__ = ["LocalEngine", "cores", "on_threads"]
