"""LowerCompositeOps: the sin and cos recipes statement by statement, the positions where calls are found, and their numbers."""

from __future__ import annotations

import struct

import numpy as np
import pytest

import pypto.language as pl
from pypto import ir, passes
from pypto.diagnostics import InternalError, InvalidValueError
from pypto.ir.op import unregister_op
from pypto.ops import Kind, Lanes, Param, op
from pypto.ops.declare import Declaration
from pypto.passes.lower_composite_ops import composite_ops, composite_rule, remove_composite_rule
from pypto.runtime import run

BITS = {
    "INV": "3ea2f983",
    "V2": "40490000",
    "C1": "3a7d8000",
    "C2": "35288000",
    "C3": "2f05c000",
    "C4": "a9e7b967",
    "HH": "3fc90fdb",
    "HT": "b33bbd2e",
    "R0": "362ed04c",
    "R1": "b94fb63b",
    "R2": "3c088758",
    "R3": "be2aaaa5",
    "HALF": "3f000000",
    "M4": "40800000",
    "NEG2": "c0000000",
    "ONE": "3f800000",
}

# qualifier, operator, operands (names of earlier rows, x, or a constant), and "cos" for the lines that only cos has
TABLE = [
    ("pi_inv_x", "tile.muls", ("x", "INV"), ""),
    ("k_pre", "tile.adds", ("pi_inv_x", "HALF"), "cos"),
    ("k_i", "tile.cast", ("k", "INT32", "kmode"), ""),
    ("k_f", "tile.cast", ("k_i", "FP32", "none"), ""),
    ("k_pi_v2", "tile.muls", ("k_f", "V2"), ""),
    ("t0", "tile.sub", ("x", "k_pi_v2"), ""),
    ("k_pi_c1", "tile.muls", ("k_f", "C1"), ""),
    ("t1", "tile.sub", ("t0", "k_pi_c1"), ""),
    ("t1h", "tile.adds", ("t1", "HH"), "cos"),
    ("k_pi_c2", "tile.muls", ("k_f", "C2"), ""),
    ("t2", "tile.sub", ("t1x", "k_pi_c2"), ""),
    ("k_pi_c3", "tile.muls", ("k_f", "C3"), ""),
    ("t3", "tile.sub", ("t2", "k_pi_c3"), ""),
    ("k_pi_c4", "tile.muls", ("k_f", "C4"), ""),
    ("t4", "tile.sub", ("t3", "k_pi_c4"), ""),
    ("t4t", "tile.adds", ("t4", "HT"), "cos"),
    ("half_k", "tile.muls", ("k_f", "HALF"), ""),
    ("floor_hk_i", "tile.cast", ("half_k", "INT32", "floor"), ""),
    ("floor_hk_f", "tile.cast", ("floor_hk_i", "FP32", "none"), ""),
    ("floor_x4", "tile.muls", ("floor_hk_f", "M4"), ""),
    ("neg2_k", "tile.muls", ("k_f", "NEG2"), ""),
    ("sign_pre", "tile.add", ("floor_x4", "neg2_k"), ""),
    ("sign", "tile.adds", ("sign_pre", "ONE"), ""),
    ("t2sq", "tile.mul", ("t", "t"), ""),
    ("p_r0", "tile.muls", ("t2sq", "R0"), ""),
    ("p_r1", "tile.adds", ("p_r0", "R1"), ""),
    ("p_t2_r1", "tile.mul", ("p_r1", "t2sq"), ""),
    ("p_r2", "tile.adds", ("p_t2_r1", "R2"), ""),
    ("p_t2_r2", "tile.mul", ("p_r2", "t2sq"), ""),
    ("p_r3", "tile.adds", ("p_t2_r2", "R3"), ""),
    ("p_t2_r3", "tile.mul", ("p_r3", "t2sq"), ""),
    ("p_one", "tile.adds", ("p_t2_r3", "ONE"), ""),
    ("t_p", "tile.mul", ("t", "p_one"), ""),
    (None, "tile.mul", ("sign", "t_p"), ""),
]


def bits(value: float) -> str:
    return struct.pack(">f", value).hex()


def kernel(body: str, shape: str = "[16, 48]") -> ir.Program:
    """A program with one kernel ``k(x: Tile, c: Scalar)``."""
    lines = "\n".join("        " + line for line in body.strip("\n").split("\n"))
    return pl.parse(
        f"""
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(x: pl.Tile[{shape}, pl.FP32, pl.Mem.Vec], c: pl.Scalar[pl.INDEX]) -> pl.Tile[{shape}, pl.FP32, pl.Mem.Vec]:
{lines}
"""
    )


def body_of(program: ir.Program, name: str = "k") -> list[ir.Stmt]:
    return ir.flatten_to_stmts(program[name].body)


def qualifier(name: str) -> str:
    return name.partition("__")[2].rpartition("_tmp_v")[0]


@pytest.mark.parametrize("which", ["sin", "cos"])
def test_recipe_is_the_table(which: str) -> None:
    program = kernel(f"y = pl.tile.{which}(x)\nreturn y")
    target = body_of(program)[0].var
    lowered = passes.lower_composite_ops()(program)
    stmts = body_of(lowered)[:-1]
    rows = [row for row in TABLE if row[3] in ("", which)]
    assert len(stmts) == len(rows) == {"sin": 31, "cos": 34}[which]
    x = lowered["k"].params[0]
    known = {"x": x}
    for stmt, (name, operator, operands, _) in zip(stmts, rows, strict=True):
        call = stmt.value
        assert call.op.name == operator, name
        known["k"] = known.get("k_pre" if which == "cos" else "pi_inv_x")
        known["t1x"] = known.get("t1h" if which == "cos" else "t1")
        known["t"] = known.get("t4t" if which == "cos" else "t4")
        assert call.args[0] is known[operands[0]], name
        if operator == "tile.cast":
            modes = {"kmode": {"sin": 2, "cos": 1}[which], "none": 0, "floor": 3}
            assert list(call.kwargs.items()) == [("target_type", getattr(ir.DataType, operands[1])), ("mode", modes[operands[2]])]
        elif operands[1] in BITS:
            constant = call.args[1]
            assert isinstance(constant, ir.ConstFloat)
            assert constant.dtype is ir.DataType.FP32
            assert bits(constant.value) == BITS[operands[1]]
            assert np.float32(constant.value) == constant.value, "the stored double is the FP32 number itself"
        else:
            assert call.args[1] is known[operands[1]], name
        if name is None:
            assert stmt.var is target
        else:
            assert qualifier(stmt.var.name_hint) == name
            assert stmt.var.name_hint.startswith("y__")
            known[name] = stmt.var
        assert call.type == (
            ir.TileType([16, 48], ir.INT32, memory_space=ir.MemorySpace.Vec) if operands[1] == "INT32" else x.type
        )


def test_a_program_without_composites_is_the_same_object() -> None:
    program = kernel("y = pl.tile.add(x, x)\nz = pl.tile.exp(y)\nreturn z")
    assert passes.lower_composite_ops()(program) is program


def test_second_run_changes_nothing() -> None:
    lowered = passes.lower_composite_ops()(kernel("y = pl.tile.cos(x)\nreturn y"))
    assert passes.lower_composite_ops()(lowered) is lowered


def test_two_calls_share_the_counter() -> None:
    lowered = passes.lower_composite_ops()(kernel("y = pl.tile.sin(x)\nz = pl.tile.cos(y)\nreturn z"))
    names = [s.var.name_hint for s in body_of(lowered)[:-1]]
    numbers = [int(n.rpartition("_tmp_v")[2]) for n in names if "_tmp_v" in n]
    assert len(set(names)) == len(names) == 31 + 34
    assert numbers == list(range(30 + 33))


def test_return_element_gets_a_result_temporary() -> None:
    lowered = passes.lower_composite_ops()(kernel("return pl.tile.cos(x)"))
    *prelude, last = body_of(lowered)
    assert len(prelude) == 34
    assert isinstance(last, ir.ReturnStmt)
    assert last.value[0] is prelude[-1].var
    assert qualifier(prelude[-1].var.name_hint) == "result"
    assert all(s.var.name_hint.startswith("ret0__") for s in prelude)


def test_dropped_call_still_leaves_its_temporaries() -> None:
    lowered = passes.lower_composite_ops()(kernel("pl.tile.sin(x)\nreturn x"))
    *prelude, _ = body_of(lowered)
    assert len(prelude) == 30
    assert all(s.var.name_hint.startswith("eval__") for s in prelude)


def test_inside_loops_and_branches_in_place() -> None:
    program = kernel(
        """
for i, (acc,) in pl.range(3, init_values=(x,)):
    if i > c:
        s = pl.tile.sin(acc)
        picked = pl.yield_(s)
    else:
        picked = pl.yield_(acc)
    out = pl.yield_(picked)
return out
"""
    )
    lowered = passes.lower_composite_ops()(program)
    loop = body_of(lowered)[0]
    assert isinstance(loop, ir.ForStmt)
    branch, yielded = ir.flatten_to_stmts(loop.body)
    assert isinstance(branch, ir.IfStmt)
    inner = ir.flatten_to_stmts(branch.then_body)
    assert len(inner) == 32
    assert isinstance(inner[-1], ir.YieldStmt)
    assert inner[-1].value[0] is inner[-2].var
    assert isinstance(yielded, ir.YieldStmt)


def test_compiler_made_names_do_not_grow() -> None:
    program = kernel("y__ssa_v0 = pl.tile.sin(x)\nreturn y__ssa_v0")
    lowered = passes.lower_composite_ops()(program)
    assert all(s.var.name_hint.startswith("y__") and s.var.name_hint.count("__") == 1 for s in body_of(lowered)[:-1])


def test_name_with_nothing_before_the_underscores_is_refused() -> None:
    tile = ir.TileType([8, 8], ir.FP32, memory_space=ir.MemorySpace.Vec)
    x, odd = ir.Var("x", tile), ir.Var("__odd", tile)
    span = ir.Span("kernel.py", 7, 5)
    body = ir.SeqStmts([ir.AssignStmt(odd, ir.create_op_call("tile.sin", [x], span), span), ir.ReturnStmt([odd])])
    program = ir.Program([ir.Function("k", [x], [tile], body, type=ir.FunctionType.InCore)], "P")
    with pytest.raises(InvalidValueError, match="__odd") as caught:
        passes.lower_composite_ops()(program)
    assert caught.value.span["line"] == 7


def test_any_rank_keeps_shape_and_valid_region() -> None:
    program = pl.parse(
        """
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(x: pl.Tensor[[4, 8, 32], pl.FP32], n: pl.Scalar[pl.INDEX]) -> pl.Scalar[pl.INDEX]:
        t = pl.load(x, [0, 0, 0], [4, 8, 32], valid_shape=[4, 8, n])
        y = pl.tile.sin(t)
        return n
"""
    )
    loaded = body_of(program)[0].var.type
    for stmt in body_of(passes.lower_composite_ops()(program))[1:-1]:
        assert [d.value for d in stmt.var.type.shape] == [4, 8, 32]
        assert ir.structural_equal(ir.MakeTuple(stmt.var.type.valid_shape), ir.MakeTuple(loaded.valid_shape))


def test_wrong_operand_is_an_internal_error() -> None:
    tile = ir.TileType([8, 8], ir.FP16, memory_space=ir.MemorySpace.Vec)
    x = ir.Var("x", tile)
    call = ir.Call(ir.get_op("tile.sin"), [x], tile, ir.Span.unknown())
    y = ir.Var("y", tile)
    program = ir.Program([ir.Function("k", [x], [tile], ir.SeqStmts([ir.AssignStmt(y, call), ir.ReturnStmt([y])]))], "P")
    with pytest.raises(InternalError, match="report"):
        passes.lower_composite_ops()(program)


def test_comments_stay_above_what_they_describe() -> None:
    lowered = passes.lower_composite_ops()(kernel("# the wave\ny = pl.tile.sin(x)\nreturn y"))
    assert list(body_of(lowered)[0].leading_comments) == ["the wave"]


# -- numbers ---------------------------------------------------------------------------------------------------------------------


def evaluate(which: str, x: np.ndarray) -> np.ndarray:
    """The lowered recipe run on NumPy, rows of 64."""
    padded = np.zeros(-(-x.size // 64) * 64, np.float32)
    padded[: x.size] = x
    rows = padded.size // 64
    program = pl.parse(
        f"""
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(x: pl.Tensor[[{rows}, 64], pl.FP32], o: pl.Out[pl.Tensor[[{rows}, 64], pl.FP32]]) -> pl.Tensor[[{rows}, 64], pl.FP32]:
        t = pl.load(x, [0, 0], [{rows}, 64])
        y = pl.tile.{which}(t)
        r = pl.store(y, [0, 0], o)
        return r
"""
    )
    lowered = passes.lower_composite_ops()(program)
    return run(lowered, padded.reshape(rows, 64), np.zeros((rows, 64), np.float32)).reshape(-1)[: x.size]


@pytest.mark.parametrize("which", ["sin", "cos"])
@pytest.mark.parametrize(("limit", "allowed"), [(2 * np.pi * 1024, 5e-7), (65536.0, 5e-7), (131072.0, 1e-5)])
def test_error_against_float64(which: str, limit: float, allowed: float) -> None:
    for seed in (0, 1, 42):
        x = np.random.default_rng(seed).uniform(-limit, limit, 8192).astype(np.float32)
        exact = getattr(np, which)(x.astype(np.float64))
        assert np.abs(evaluate(which, x).astype(np.float64) - exact).max() <= allowed


def test_special_points() -> None:
    points = np.array([0, np.pi / 2, np.pi, 3 * np.pi / 2, 2 * np.pi], np.float32)
    assert np.abs(evaluate("sin", points) - np.array([0, 1, -8.74e-8, -1.0000001, 1.75e-7])).max() < 1e-7
    assert np.abs(evaluate("cos", points) - np.array([1.0000001, -4.37e-8, -1, 0, 1])).max() < 2e-7


def test_nan_gives_nan_and_tiny_is_itself() -> None:
    for which in ("sin", "cos"):
        assert np.isnan(evaluate(which, np.array([np.nan], np.float32))).all()
    assert evaluate("sin", np.array([1e-30], np.float32))[0] == np.float32(1e-30)


# -- rules from outside ----------------------------------------------------------------------------------------------------------


def test_rule_from_outside_and_its_removal() -> None:
    op(
        "tile.test_cube",
        params=[Param("tile", Kind.TILE)],
        result=lambda declaration, args, kwargs: args[0].type,
        meaning=lambda tile: tile * tile * tile,
        lanes=Lanes.ELEMENTWISE,
        memory=ir.MemorySpace.Vec,
        composite=True,
        doc="Third power.",
    )
    try:

        @composite_rule("tile.test_cube")
        def lower_cube(call, args, b):
            return b.call("tile.mul", b.mul("square", args[0], args[0]), args[0])

        with pytest.raises(InvalidValueError, match="already has a lowering rule"):
            composite_rule("tile.test_cube")(lower_cube)
        lowered = passes.lower_composite_ops()(kernel("y = pl.tile.test_cube(x)\nreturn y"))
        assert [s.value.op.name for s in body_of(lowered)[:-1]] == ["tile.mul", "tile.mul"]
    finally:
        remove_composite_rule("tile.test_cube")
        unregister_op("tile.test_cube")


def test_every_rule_belongs_to_a_composite_operator() -> None:
    collectives = ("all_to_all", "all_to_all_v", "allgather", "allreduce", "barrier", "broadcast", "reduce_scatter")
    assert composite_ops() == [*(f"pld.tensor.{leaf}" for leaf in collectives), "tile.cos", "tile.sin"]
    for name in composite_ops():
        declared = ir.get_op(name)
        assert isinstance(declared, Declaration)
        assert declared.composite
