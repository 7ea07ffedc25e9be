"""Random calls of the vocabulary: operands and keywords from the declarations, and only what their type rules accept."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from pypto.diagnostics import Error
from pypto.ir.dtypes import DataType
from pypto.ir.enums import PadValue
from pypto.ir.expr import Call, Expr, Var
from pypto.ir.op import declared_ops, registry_version
from pypto.ir.types import (
    ArrayType,
    CommCtxType,
    DistributedTensorType,
    PtrType,
    ScalarType,
    TensorType,
    TileType,
    TupleType,
    Type,
)
from pypto.ops.declare import MISSING, Declaration, Kind, Param
from pypto.testing.generation.types import TypeAuthor

_TYPES: dict[Kind, tuple[type[Type], ...]] = {
    Kind.TENSOR: (TensorType,),
    Kind.DISTRIBUTED: (DistributedTensorType,),
    Kind.TILE: (TileType,),
    Kind.SHAPED: (TensorType, TileType),
    Kind.SHAPED_OR_SCALAR: (TensorType, TileType, ScalarType),
    Kind.CONTEXT: (CommCtxType,),
    Kind.POINTER: (PtrType,),
    Kind.ARRAY: (ArrayType,),
    Kind.ANY: (Type,),
}

_STRINGS = ("mix", "hard", "soft", "vector", "partial", "final", "slots", "unspecified", "")


@cache
def _operators(version: int) -> dict[str, tuple[Declaration, ...]]:
    found: dict[str, list[Declaration]] = {}
    for op in declared_ops():
        if isinstance(op, Declaration) and not op.internal_only:
            found.setdefault(op.namespace, []).append(op)
    return {space: tuple(ops) for space, ops in found.items()}


def operators(namespace: str) -> tuple[Declaration, ...]:
    """The public operators of a namespace."""
    return _operators(registry_version()).get(namespace, ())


class OperatorAuthor(TypeAuthor):
    """Makes calls of operators with operands that are in scope."""

    def call(self, namespaces: Sequence[str], attempts: int = 8) -> Call | None:
        """A call of some operator whose type rule takes what is in scope; None when none was found in some attempts."""
        for _ in range(attempts):
            space = self.pick(namespaces)
            found = operators(space)
            made = self.call_of(self.pick(found)) if found else None
            if made is not None:
                return made
        return None

    def call_of(self, declaration: Declaration) -> Call | None:
        """A call of one operator, None when the operands that were chosen do not fit."""
        bound: list[Any] = []
        for param in declaration.params:
            if not param.required and self.chance(0.55):
                bound.append(MISSING)
                continue
            value = self._operand(declaration, param, bound) if param.is_operand else self._keyword(param)
            if value is None:
                if param.required:
                    return None
                value = MISSING
            bound.append(value)
        try:
            made = declaration.build(bound)
        except Error:
            return None
        return made.replace(attrs=self.call_attributes()) if self.chance(0.1) else made

    def call_attributes(self) -> dict[str, Any]:
        """Attributes of a call as they are stored."""
        from pypto.ir.attrs import normalize_attrs

        return dict(normalize_attrs(self.attributes()))

    def _operand(self, declaration: Declaration, param: Param, bound: Sequence[Any]) -> Any:
        if param.kind is Kind.SCALAR:
            return self._scalar_operand(declaration, param, bound)
        first = next((b for b in bound if isinstance(b, Expr) and isinstance(b.type, TensorType | TileType)), None)
        if param.kind is Kind.TUPLE:
            return self.indices(first)
        if param.kind is Kind.SHAPED_OR_SCALAR and self.chance(0.4):
            return self._scalar_operand(declaration, param, bound)
        candidates = self.known(*_TYPES[param.kind])
        if isinstance(first, Var) and self.chance(0.7):
            like: Any = first.type
            close = [v for v in candidates if getattr(v.type, "dtype", None) is like.dtype]
            candidates = close or candidates
        return self.pick(candidates) if candidates else None

    def _scalar_operand(self, declaration: Declaration, param: Param, bound: Sequence[Any]) -> Any:
        if param.enum is not None and self.chance(0.8):
            return self.pick(tuple(param.enum))
        if param.literal or self.chance(0.35):
            return self.pick((0, 1, 2, -1, 0.5, 3))
        dtype = DataType.INDEX
        paired = next((b.type for b in bound if isinstance(b, Expr) and hasattr(b.type, "dtype")), None)
        if isinstance(param.stamp, DataType):
            dtype = param.stamp
        elif paired is not None and self.chance(0.7):
            dtype = getattr(paired, "dtype", dtype)
        return self.scalar(dtype, 1)

    def indices(self, like: Expr | None) -> Any:
        """A list of numbers: a shape, offsets, or parts of them."""
        shape: list[Any] = [*like.type.shape] if like is not None and isinstance(like.type, TensorType | TileType) else [16, 16]
        kind = self.random.randrange(9)
        if kind < 3:
            return shape
        if kind == 3:
            return [0] * len(shape)
        if kind == 4:
            return [self.pick((1, 8, 16)) for _ in shape]
        if kind == 5:
            return [self.scalar(DataType.INDEX, 1) for _ in shape]
        if kind == 6:
            return [*reversed(shape)]
        if kind == 7:
            return [self.count(max(0, len(shape) - 1))]
        known = [v for v in self.values if isinstance(v.type, TupleType)]
        return self.pick(known) if known else [*shape, 1]

    def _keyword(self, param: Param) -> Any:
        kind = param.kind
        if kind is Kind.DTYPE:
            return self.element()
        if kind is Kind.ENUM and param.enum is not None:
            return self.pick(tuple(param.enum))
        if kind is Kind.BOOL:
            return self.chance(0.5)
        if kind is Kind.INT:
            return self.pick((0, 1, -1, 2, 3, 64))
        if kind is Kind.FLOAT:
            return self.pick((0.0, 0.5, -1.0, 1e-3, float("inf"), 7))
        if kind is Kind.STR:
            return self.pick(_STRINGS)
        if kind is Kind.CAST_MODE:
            return self.random.randrange(7)
        return self.pick((PadValue.zero, PadValue.max, PadValue.min)) if kind is Kind.PAD else None
