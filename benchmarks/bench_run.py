"""What running costs beyond the NumPy calls themselves: the statements of lowered sines, against the same calls written by hand."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import pypto.ops  # noqa: F401 - declares the operators
from pypto import ir
from pypto.ir import DataType
from pypto.ir.expr import ConstFloat, Expr, Var
from pypto.runtime.arguments import bind_arguments
from pypto.runtime.compile import Linked

LIMIT = 1.2

INV = 0.31830987334251404
PIECES = (3.140625, 0.0009670257568359375, 6.277114152908325e-07, 1.2164491636212915e-10, -1.0290622927356871e-13)
R0, R1, R2, R3 = 2.604926521598827e-06, -0.0001980894448934123, 0.008333049714565277, -0.16666658222675323


class _Kernel:
    """A kernel in the making: tiles in, one tile out."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self.shape = ir.MakeTuple([ir.index_const(d) for d in shape])
        self.origin = ir.MakeTuple([ir.index_const(0)] * 2)
        self.x = Var("x", ir.TensorType(shape, DataType.FP32))
        self.out = Var("out", ir.TensorType(shape, DataType.FP32))
        self.stmts: list[ir.Stmt] = []

    def let(self, name: str, operands: list[Any], **keywords: Any) -> Var:
        """One statement; numbers are FP32 constants."""
        args: list[Expr] = [ConstFloat(o, DataType.FP32) if isinstance(o, float) else o for o in operands]
        call = ir.create_op_call(name, args, keywords)
        var = Var(name.split(".")[1], call.type)
        self.stmts.append(ir.AssignStmt(var, call))
        return var

    def load(self) -> Var:
        """The input as a tile."""
        return self.let("tile.load", [self.x, self.origin, self.shape, self.shape], target_memory=ir.MemorySpace.Vec)

    def function(self, tile: Var) -> ir.Function:
        """The kernel that stores ``tile``."""
        stored = self.let("tile.store", [tile, self.origin, self.out])
        self.stmts.append(ir.ReturnStmt([stored]))
        params = [self.x, (self.out, ir.ParamDirection.Out)]
        return ir.Function("kernel", params, [self.out.type], ir.SeqStmts(self.stmts), type=ir.FunctionType.InCore)


def _whole(k: _Kernel, tile: Var, mode: ir.CastMode) -> Var:
    return k.let(
        "tile.cast", [k.let("tile.cast", [tile], target_type=DataType.INT32, mode=int(mode))], target_type=DataType.FP32, mode=0
    )


def _sine(k: _Kernel, x: Var) -> Var:
    """The statements of a lowered sine."""
    kf = _whole(k, k.let("tile.muls", [x, INV]), ir.CastMode.round)
    t = x
    for piece in PIECES:
        t = k.let("tile.sub", [t, k.let("tile.muls", [kf, piece])])
    half = _whole(k, k.let("tile.muls", [kf, 0.5]), ir.CastMode.floor)
    sign = k.let("tile.add", [k.let("tile.muls", [half, 4.0]), k.let("tile.muls", [kf, -2.0])])
    sign = k.let("tile.adds", [sign, 1.0])
    square = k.let("tile.mul", [t, t])
    p = k.let("tile.adds", [k.let("tile.muls", [square, R0]), R1])
    for r in (R2, R3, 1.0):
        p = k.let("tile.adds", [k.let("tile.mul", [p, square]), r])
    return k.let("tile.mul", [sign, k.let("tile.mul", [t, p])])


def _round(x: Any) -> Any:
    whole = np.trunc(x)
    away = np.abs(x - whole) >= np.float32(0.5)
    return (whole + np.copysign(away, x, dtype=np.float32)).astype(np.int32)


def _sine_by_hand(x: Any, out: Any, count: int) -> None:
    f = np.float32
    inv, (v2, c1, c2, c3, c4) = f(INV), [f(p) for p in PIECES]
    r0, r1, r2, r3, one, half, four, two = f(R0), f(R1), f(R2), f(R3), f(1), f(0.5), f(4), f(-2)
    x = x.copy()
    for _ in range(count):
        k = _round(x * inv).astype(np.float32)
        t = x - k * v2
        t = t - k * c1
        t = t - k * c2
        t = t - k * c3
        t = t - k * c4
        h = np.floor(k * half).astype(np.int32).astype(np.float32)
        sign = h * four + k * two + one
        s = t * t
        p = s * r0 + r1
        p = p * s + r2
        p = p * s + r3
        p = p * s + one
        x = sign * (t * p)
    out[...] = x


def _chain(k: _Kernel, x: Var) -> Var:
    """Plain arithmetic without casts."""
    y = x
    for _ in range(10):
        y = k.let("tile.add", [k.let("tile.mul", [k.let("tile.adds", [k.let("tile.muls", [y, 0.5]), 0.25]), x]), x])
    return y


def _chain_by_hand(x: Any, out: Any, count: int) -> None:
    half, quarter = np.float32(0.5), np.float32(0.25)
    x = x.copy()
    y = x
    for _ in range(10 * count):
        y = (y * half + quarter) * x + x
    out[...] = y


def _ratio(mine: Callable[[], Any], theirs: Callable[[], Any], rounds: int = 15, repeat: int = 4) -> float:
    """Best time of the one over best time of the other, measured in turns."""
    best = [float("inf"), float("inf")]
    for _ in range(rounds):
        for at, work in enumerate((mine, theirs)):
            start = time.perf_counter()
            for _ in range(repeat):
                work()
            best[at] = min(best[at], time.perf_counter() - start)
    return best[0] / best[1]


def _measure(body: Callable[[_Kernel, Var], Var], by_hand: Callable[[Any, Any, int], None], size: int, count: int) -> float:
    kernel = _Kernel((size, size))
    tile = kernel.load()
    for _ in range(count):
        tile = body(kernel, tile)
    function = kernel.function(tile)
    call = Linked(None).function(function)
    x = np.random.default_rng(0).uniform(-2, 2, (size, size)).astype(np.float32)
    mine, theirs = np.zeros_like(x), np.zeros_like(x)
    values = bind_arguments(function, [x, mine]).values
    with np.errstate(all="ignore"):
        call(*values)
        by_hand(x, theirs, count)
        if not np.array_equal(mine, theirs):
            raise AssertionError("the two computations that are compared differ")
        return _ratio(lambda: call(*values), lambda: by_hand(x, theirs, count))


def rows() -> list[tuple[str, float, float]]:
    """Name, measured ratio and limit of each figure."""
    return [
        ("run 4 lowered sines, FP32 [128, 128] / NumPy by hand", _measure(_sine, _sine_by_hand, 128, 4), LIMIT),
        ("run 4 lowered sines, FP32 [512, 512] / NumPy by hand", _measure(_sine, _sine_by_hand, 512, 4), LIMIT),
        ("run 40 sums and products, FP32 [128, 128] / NumPy by hand", _measure(_chain, _chain_by_hand, 128, 1), LIMIT),
    ]
