"""Functions of the compiled part with signatures that Python's tools read, and close matches for misspelled keywords."""

import ast
import difflib
import functools
import inspect
import operator
import re
from typing import Any, Callable, Optional, TypeVar

from . import _wick

F = TypeVar("F", bound=Callable[..., Any])


def _signature(function: Any) -> inspect.Signature:
    """Of what nanobind says: the text of a declaration, with a number in the place of each default."""
    text, _, defaults = function.__nb_signature__[0]
    text = re.sub(r"\[\w+=[^\]]*\]", "", text)  # ndarray[device='cpu', …], which is no Python
    arguments = ast.parse(re.sub(r"\\(\d+)", r"\1", text) + ": pass").body[0].args
    kinds = [(a, d, inspect.Parameter.POSITIONAL_OR_KEYWORD) for a, d in zip(arguments.args, [None] * (len(arguments.args) - len(arguments.defaults)) + arguments.defaults)]
    kinds += [(a, d, inspect.Parameter.KEYWORD_ONLY) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults)]
    return inspect.Signature([
        inspect.Parameter(a.arg, kind, default=inspect.Parameter.empty if d is None else defaults[d.value], annotation=ast.unparse(a.annotation))
        for a, d, kind in kinds
    ])


def _what(given: Any) -> str:
    """What somebody gave in the place of a transform, and what to give."""
    if inspect.isclass(given) or (given in vars(_wick).values()) or hasattr(given, "_of_wick"):
        return f"{given.__name__}, without arguments; call it: {given.__name__}(…)"
    kind = type(given)
    if kind.__module__.startswith("torchvision."):
        return f"torchvision's {kind.__name__}; take that of wick.transforms"
    if callable(given):
        return "a Python function, and transforms run in C++; apply it to the batch"
    return f"{given!r}; give a transform of wick.transforms"


def _fault(name: str, value: Any, annotation: str) -> Optional[str]:
    """What is wrong with an argument, where that can be said in fewer words than by a whole signature."""
    if name == "transforms":
        if isinstance(value, _wick.Transform):
            return "transforms takes a list: [" + repr(value) + "]"
        for place, one in enumerate(value) if isinstance(value, (list, tuple)) else ():
            if not isinstance(one, _wick.Transform):
                return f"transforms[{place}] is {_what(one)}"
    elif annotation == "bool" and not isinstance(value, bool):
        return f"{name}={value!r}; it takes True or False"
    elif annotation == "int":
        try:
            operator.index(value)
        except TypeError:
            return f"{name}={value!r}; it takes a whole number"
        if operator.index(value) < 0:
            return f"{name}={value!r}; it takes a whole number that isn't negative"
    return None


def checked(function: F) -> F:
    """The same function, which says what a keyword that it doesn't have may have been meant to be."""
    signature = _signature(function)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        for name in kwargs:
            if name not in signature.parameters:
                close = difflib.get_close_matches(name, signature.parameters, 3, cutoff=0.65)
                hint = f"did you mean {' or '.join(close)}?" if close else f"it has {', '.join(signature.parameters)}"
                raise TypeError(f"wick.{function.__name__}() has no keyword {name}; {hint}")
        given = dict(zip(signature.parameters, args), **kwargs)
        for name, value in given.items():
            fault = _fault(name, value, signature.parameters[name].annotation)
            if fault:
                raise TypeError(f"wick.{function.__name__}(): {fault}")
        made = function(*args, **kwargs)
        if hasattr(made, "_arguments"):  # a transform
            made._arguments = ", ".join([repr(a) for a in args] + [f"{k}={v!r}" for k, v in kwargs.items()])
        return made

    call.__module__ = "wick"
    call._of_wick = True  # type: ignore[attr-defined]
    call.__doc__ = function.__doc__.split("\n\n", 1)[-1]  # without the signature, which help() shows
    call.__signature__ = signature  # type: ignore[attr-defined]
    return call  # type: ignore[return-value]
