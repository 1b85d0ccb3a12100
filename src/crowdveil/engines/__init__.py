"""Where blocks of objects are worked on. An engine has two verbs: run over blocks, and sum over blocks."""

from crowdveil.engines.local import LocalEngine, cores

__all__ = ["LocalEngine", "cores"]
