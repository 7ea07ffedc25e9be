"""TileOps2D: tiles in kernels have at most two axes."""

from __future__ import annotations

from collections.abc import Iterator

from pypto.diagnostics import Diagnostic
from pypto.ir.enums import is_incore_type
from pypto.ir.expr import Call
from pypto.ir.function import Program
from pypto.ir.stmt import Stmt
from pypto.ir.types import TileType, TupleType, Type
from pypto.ir.verify.report import Findings
from pypto.ir.verify.walk import defined, held, nodes, statements


def verify_tile_ops_2d(program: Program) -> list[Diagnostic]:
    """Report definitions and calls in kernels whose tile has more than two axes (``tile-rank``)."""
    found: list[Diagnostic] = []
    for function in program.functions.values():
        if not is_incore_type(function.func_type):
            continue
        findings = Findings("TileOps2D", function)
        for stmt in statements(function.body):
            for name, type_ in _types(stmt):
                if isinstance(type_, TileType) and len(type_.shape) > 2:
                    findings.add("tile-rank", f"{name} is a tile of rank {len(type_.shape)}, at most 2 is allowed", stmt.span)
                    break
        found += findings.items
    return found


def _types(stmt: Stmt) -> Iterator[tuple[str, Type]]:
    for var in defined(stmt):
        yield from ((repr(var.name_hint), part) for part in _parts(var.type))
    for node in nodes(held(stmt)):
        if isinstance(node, Call):
            yield from ((f"the result of {node.op.name}", part) for part in _parts(node.type))


def _parts(type_: Type) -> list[Type]:
    return [*type_.types] if isinstance(type_, TupleType) else [type_]
