"""Finding operators by what people write after ``pl.`` (or, with its prefix, ``pld.``): the only way from a spelling to a declaration."""

from __future__ import annotations

import keyword
from collections.abc import Sequence

from pypto.ir.op import declared_ops, registry_version
from pypto.ops.declare import Declaration
from pypto.ops.forms import Forms
from pypto.ops.implied import ImpliedForm
from pypto.ops.scalars import SCALAR_FORMS, ScalarForm
from pypto.ops.unified import Unified, UnifiedParam

__all__ = ["Entry", "ScalarForm", "Unified", "UnifiedParam", "all_paths", "lookup", "names", "unified_signature"]

Entry = Declaration | Unified
"""What a spelling stands for."""

_entries: dict[str, Entry] = {}
_made_at = -1


def lookup(path: str) -> Entry | None:
    """What the dotted text after the prefix means (``add``, ``tile.and_``, ``tensor.dim``, ``pld.tensor.put``); None if nothing."""
    if _made_at != registry_version():
        _make()
    return _entries.get(path)


def names(namespace: str = "") -> list[str]:
    """The names people may write in a namespace (``""`` the bare ones, ``tile``, ``pld.tensor`` ...), sorted, without internal ones."""
    prefix = f"{namespace}." if namespace else ""
    found = [
        path[len(prefix) :]
        for path in all_paths()
        if path.startswith(prefix) and "." not in path[len(prefix) :] and not _is_internal(_entries[path])
    ]
    return sorted(found)


def all_paths() -> Sequence[str]:
    """Every spelling that :func:`lookup` knows, sorted; those of internal operators included."""
    if _made_at != registry_version():
        _make()
    return sorted(_entries)


def unified_signature(unified: Unified) -> Sequence[UnifiedParam]:
    """The parameters of a bare spelling: those of the tensor form, then what only another form has."""
    return unified.params


def paths_of(declaration: Declaration) -> list[str]:
    """The full dotted spellings of one operator, the preferred first."""
    head, leaf = declaration.namespace, written(declaration.leaf)
    prefix = f"{head}." if head else ""
    return [prefix + leaf, *(s if "." in s else prefix + s for s in declaration.spellings)]


def bare_names(declaration: Declaration) -> list[str]:
    """The names after ``pl.`` alone: none unless it is short; its further spellings where it has any, else its own name."""
    if not declaration.short:
        return []
    return [s for s in declaration.spellings if "." not in s] or [written(declaration.leaf)]


def _short_prefix(declaration: Declaration) -> str:
    """What stands before the bare names of an operator: nothing after ``pl.``, ``pld.`` for those of the distributed part."""
    return "pld." if declaration.namespace.startswith("pld.") else ""


def written(name: str) -> str:
    """A name as Python source can spell it: keywords gain an underscore."""
    return f"{name}_" if keyword.iskeyword(name) else name


def _is_internal(entry: Entry) -> bool:
    if isinstance(entry, ImpliedForm):
        return True
    return isinstance(entry, Declaration) and entry.internal_only and not isinstance(entry, ScalarForm)


def _make() -> None:
    global _entries, _made_at
    made: dict[str, Entry] = {}
    dotted: dict[str, list[Declaration]] = {}
    bare: dict[str, dict[str, Declaration]] = {}
    shared: dict[str, list[Declaration]] = {}
    for declaration in declared_ops():
        if not isinstance(declaration, Declaration):
            continue
        for path in paths_of(declaration):
            dotted.setdefault(path, []).append(declaration)
        for spelling, keywords in declaration.implied_forms.items():
            made[f"{declaration.namespace}.{spelling}"] = ImpliedForm(declaration, spelling, keywords)
        prefix, form = _short_prefix(declaration), declaration.namespace.rpartition(".")[2]
        for name in bare_names(declaration):
            taken = bare.setdefault(prefix + name, {})
            if form in taken:
                shared.setdefault(prefix + name, [*taken.values()]).append(declaration)
            taken.setdefault(form, declaration)
    for path, operators in dotted.items():
        made[path] = operators[0] if len(operators) == 1 else Forms(path, operators)
    for form in SCALAR_FORMS:
        for path in form.paths:
            if "." in path:
                made[path] = form
            else:
                bare.setdefault(path, {})["scalar"] = form
    for name, choices in bare.items():
        head, _, leaf = name.rpartition(".")
        made[name] = next(iter(choices.values())) if len(choices) == 1 else Unified(leaf, choices, head or "pl")
    for name, operators in shared.items():
        made[name] = Forms(name, operators)
    _entries, _made_at = made, registry_version()
