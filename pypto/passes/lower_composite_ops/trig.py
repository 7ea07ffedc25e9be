"""sin and cos of FP32 tiles: Cody-Waite range reduction by multiples of pi, then an odd polynomial of degree nine.

With ``k`` the nearest multiple, ``x = k*pi + t`` (sin) or ``x = k*pi - pi/2 + t`` (cos), ``t`` in [-pi/2, pi/2], and the result is
``(-1)**k * t * P(t*t)``. Pi is subtracted in five parts, so that cancellation loses bits only at the finest scale; the error is at
most 5e-7 for ``abs(x) <= 65536``. The constants are those of the CANN vector library, rounded to FP32.
"""

from __future__ import annotations

from collections.abc import Sequence

from pypto.diagnostics import InternalError
from pypto.ir.dtypes import DataType
from pypto.ir.enums import CastMode
from pypto.ir.expr import Call, Expr
from pypto.ir.types import TileType
from pypto.passes.lower_composite_ops.builder import LoweringBuilder
from pypto.passes.lower_composite_ops.rules import composite_rule

# Each value is exactly an FP32 number; the comment gives its bits.
PI_INV = 0.31830987334251404  # 3ea2f983, 1/pi
PI_V2 = 3.140625  # 40490000, pi, part 1
PI_C1 = 0.0009670257568359375  # 3a7d8000, part 2
PI_C2 = 6.277114152908325e-07  # 35288000, part 3
PI_C3 = 1.2164491636212915e-10  # 2f05c000, part 4
PI_C4 = -1.0290622927356871e-13  # a9e7b967, part 5
PI_HALF_HEAD = 1.5707963705062866  # 3fc90fdb, pi/2
PI_HALF_TAIL = -4.371138828673793e-08  # b33bbd2e, pi/2 less its head
R0 = 2.604926521598827e-06  # 362ed04c, degree 9
R1 = -0.0001980894448934123  # b94fb63b, degree 7
R2 = 0.008333049714565277  # 3c088758, degree 5
R3 = -0.16666658222675323  # be2aaaa5, degree 3


@composite_rule("tile.sin")
def lower_sin(call: Call, args: Sequence[Expr], b: LoweringBuilder) -> Expr:
    """31 statements for sin."""
    x = _operand(call, args)
    pi_inv_x = b.muls("pi_inv_x", x, PI_INV)
    k_f = _multiple(b, pi_inv_x, CastMode.round)
    t1 = _subtract_head(b, x, k_f)
    t4 = _subtract_tail(b, t1, k_f)
    sign = _sign(b, k_f)
    return b.call("tile.mul", sign, _polynomial(b, t4))


@composite_rule("tile.cos")
def lower_cos(call: Call, args: Sequence[Expr], b: LoweringBuilder) -> Expr:
    """34 statements for cos: half a multiple is added before rounding, and pi/2 during the reduction."""
    x = _operand(call, args)
    pi_inv_x = b.muls("pi_inv_x", x, PI_INV)
    k_pre = b.adds("k_pre", pi_inv_x, 0.5)
    k_f = _multiple(b, k_pre, CastMode.rint)
    t1h = b.adds("t1h", _subtract_head(b, x, k_f), PI_HALF_HEAD)
    t4t = b.adds("t4t", _subtract_tail(b, t1h, k_f), PI_HALF_TAIL)
    sign = _sign(b, k_f)
    return b.call("tile.mul", sign, _polynomial(b, t4t))


def _operand(call: Call, args: Sequence[Expr]) -> Expr:
    if len(args) != 1 or not isinstance(args[0].type, TileType) or args[0].type.dtype is not DataType.FP32:
        raise InternalError(f"{call.op.name} reached lowering without exactly one FP32 tile", call.span)
    return args[0]


def _multiple(b: LoweringBuilder, quotient: Expr, mode: CastMode) -> Expr:
    k_i = b.cast("k_i", quotient, DataType.INT32, mode)
    return b.cast("k_f", k_i, DataType.FP32, CastMode.none)


def _subtract_head(b: LoweringBuilder, x: Expr, k_f: Expr) -> Expr:
    t0 = b.sub("t0", x, b.muls("k_pi_v2", k_f, PI_V2))
    return b.sub("t1", t0, b.muls("k_pi_c1", k_f, PI_C1))


def _subtract_tail(b: LoweringBuilder, t: Expr, k_f: Expr) -> Expr:
    t2 = b.sub("t2", t, b.muls("k_pi_c2", k_f, PI_C2))
    t3 = b.sub("t3", t2, b.muls("k_pi_c3", k_f, PI_C3))
    return b.sub("t4", t3, b.muls("k_pi_c4", k_f, PI_C4))


def _sign(b: LoweringBuilder, k_f: Expr) -> Expr:
    """``(-1)**k`` without a branch: ``4*floor(k/2) - 2*k + 1``."""
    half_k = b.muls("half_k", k_f, 0.5)
    floor_hk_i = b.cast("floor_hk_i", half_k, DataType.INT32, CastMode.floor)
    floor_hk_f = b.cast("floor_hk_f", floor_hk_i, DataType.FP32, CastMode.none)
    floor_x4 = b.muls("floor_x4", floor_hk_f, 4.0)
    neg2_k = b.muls("neg2_k", k_f, -2.0)
    sign_pre = b.add("sign_pre", floor_x4, neg2_k)
    return b.adds("sign", sign_pre, 1.0)


def _polynomial(b: LoweringBuilder, t: Expr) -> Expr:
    """``t * P(t*t)`` by Horner's scheme."""
    t2sq = b.mul("t2sq", t, t)
    p = b.adds("p_r1", b.muls("p_r0", t2sq, R0), R1)
    p = b.adds("p_r2", b.mul("p_t2_r1", p, t2sq), R2)
    p = b.adds("p_r3", b.mul("p_t2_r2", p, t2sq), R3)
    p = b.adds("p_one", b.mul("p_t2_r3", p, t2sq), 1.0)
    return b.mul("t_p", t, p)
