"""One line of the real code, broken: planted bugs run what releases run, but for that line."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from threading import RLock
from typing import Any

from crowdveil.audit.case import Draws, Outputs
from crowdveil.randomness import Randomness

_LOCK = RLock()


@dataclass(frozen=True)
class Line:
    """A piece of a function's text that occurs there once, and what a bug makes of it.

    `where` is the module or the class that holds the function.
    """

    where: Any
    function: str
    right: str
    wrong: str


@contextmanager
def broken(*lines: Line, forget: tuple[Callable[..., Any], ...] = ()) -> Iterator[None]:
    """The package with these lines broken, for one caller at a time.

    Caches to `forget` are emptied before and after.
    """
    with _LOCK, ExitStack() as undone:
        for cached in forget:
            cached.cache_clear()  # type: ignore[attr-defined]
            undone.callback(cached.cache_clear)  # type: ignore[attr-defined]
        for line in lines:
            undone.callback(setattr, line.where, line.function, vars(line.where)[line.function])
            setattr(line.where, line.function, _rewritten(line))
        yield


def with_broken(draws: Draws, *lines: Line, forget: tuple[Callable[..., Any], ...] = ()) -> Draws:
    """The same draws, made while these lines are broken."""

    def wrong(world: int, count: int, rng: Randomness) -> Outputs:
        with broken(*lines, forget=forget):
            return draws(world, count, rng)

    return wrong


def _rewritten(line: Line) -> Any:
    """The function with its line broken, in the namespace of its module."""
    right = inspect.unwrap(getattr(line.where, line.function))
    text = textwrap.dedent(inspect.getsource(right))
    if text.count(line.right) != 1:
        raise AssertionError(f"{line.right!r} does not occur once in {line.function}")
    text = text.replace(line.right, line.wrong)
    if inspect.isclass(line.where):  # outside its class, `super` needs to be told which one
        text = text.replace("super()", f"super({line.where.__name__}, self)")
    names: dict[str, Any] = {}  # the text is our own
    module = inspect.getmodule(right)
    code = compile(text, f"<{line.function}, broken>", "exec", flags=annotations.compiler_flag)
    exec(code, vars(module), names)  # noqa: S102
    return names[line.function]
