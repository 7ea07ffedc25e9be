"""Random types: every element type, layout, memory space, view, and nested tuples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pypto.ir.dtypes import DataType
from pypto.ir.enums import CompactMode, MemorySpace, PadValue, TensorLayout, TileLayout
from pypto.ir.expr import Expr, Mul, Var, index_const
from pypto.ir.types import (
    AsyncEventType,
    CommCtxType,
    DistributedTensorType,
    PtrType,
    ScalarType,
    TensorType,
    TensorView,
    TileType,
    TileView,
    TupleType,
    Type,
)
from pypto.testing.generation.scalars import ALL, ScalarAuthor

ELEMENTS = (
    DataType.FP32,
    DataType.FP32,
    DataType.FP32,
    DataType.FP16,
    DataType.BF16,
    DataType.INT32,
    DataType.INT8,
    DataType.UINT8,
)


class TypeAuthor(ScalarAuthor):
    """Makes types whose extents may be dynamic dimensions of the program (``dims``), or expressions of them."""

    def element(self) -> DataType:
        """An element type of tensors and tiles."""
        return self.pick(ALL) if self.chance(0.1) else self.pick(ELEMENTS)

    def shape(self, dtype: DataType) -> list[Any]:
        """Extents, one to four of them."""
        rank = self.pick((1, 2, 2, 2, 3, 4))
        dims: list[Any] = [self.pick((1, 2, 8, 16, 16, 64)) for _ in range(rank)]
        if dtype is DataType.FP4:
            dims[-1] = 16
        elif self.dims and self.chance(0.3):
            dims[self.random.randrange(rank)] = self.extent()
        return dims

    def extent(self) -> Expr:
        """A dynamic extent."""
        dim = self.pick(self.dims)
        return dim if self.chance(0.7) else Mul(dim, index_const(8), DataType.INDEX)

    def part(self, shape: Sequence[Any]) -> list[Any]:
        """Valid extents of a shape."""
        known = self.scalars(DataType.INDEX) if self.chance(0.3) else []
        result: list[Any] = []
        for dim in shape:
            if isinstance(dim, Expr) or self.chance(0.5):
                result.append(dim)
            elif known:
                var = self.pick(known)
                self.in_types.add(var)
                result.append(var)
            else:
                result.append(1 + self.random.randrange(int(dim)))
        return result

    def tensor_type(self, *, distributed: bool = False) -> TensorType:
        """A tensor type, with a view now and then."""
        dtype = self.element()
        shape = self.shape(dtype)
        view = None
        if self.chance(0.3):
            stride = [self.pick((1, 16, 128)) for _ in shape] if self.chance(0.4) else []
            layout = self.pick(tuple(TensorLayout))
            view = TensorView(stride, layout, self.part(shape) if self.chance(0.5) else [], self.pick(tuple(PadValue)))
        return (DistributedTensorType if distributed else TensorType)(shape, dtype, None, view)

    def tile_type(self) -> TileType:
        """A tile type in any memory space, or none."""
        dtype = self.element()
        shape = self.shape(dtype)
        view = None
        if self.chance(0.4):
            view = TileView(
                self.part(shape) if self.chance(0.6) else [],
                [self.pick((1, 16, 128)) for _ in shape] if self.chance(0.2) else [],
                index_const(self.count(64)) if self.chance(0.15) else None,
                self.pick(tuple(TileLayout)),
                self.pick(tuple(TileLayout)),
                self.pick((512, 1024, 32)),
                self.pick(tuple(PadValue)),
                self.pick(tuple(CompactMode)),
            )
        return TileType(shape, dtype, None, view, self.pick((None, MemorySpace.Vec, *MemorySpace)))

    def any_type(self, depth: int = 2) -> Type:
        """Any type a parameter can have."""
        kind = self.random.randrange(12)
        if kind < 4:
            return self.tensor_type(distributed=kind == 3)
        if kind < 6:
            return self.tile_type()
        if kind == 6 and depth:
            return TupleType([self.any_type(depth - 1) for _ in range(self.count(3))])
        if kind == 7:
            return self.pick((PtrType(), CommCtxType(), AsyncEventType(), ScalarType(DataType.TASK_ID)))
        return ScalarType(self.dtype())

    def dynamic_dim(self) -> Var:
        """A new dynamic dimension."""
        made = Var(self.pick(("M", "N", "M", "rows", "lambda", "x", "pl")), ScalarType(DataType.INDEX))
        self.dims.append(made)
        return made
