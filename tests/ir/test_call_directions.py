"""Calls with directions, and what can be asked of declared operators through ``ir``."""

from __future__ import annotations

import pytest

from pypto import ir

A = ir.ArgDirection
T = ir.TensorType([8], ir.FP32)


def test_make_call_stores_directions() -> None:
    x, y = ir.Var("x", T), ir.Var("y", T)
    call = ir.make_call(ir.GlobalVar("k"), [x, y], directions=[ir.input, ir.output_existing])
    assert call.arg_directions == [A.Input, A.OutputExisting]
    assert call.type is ir.UnknownType()
    assert ir.directions(ir.inout, ir.no_dep, ir.scalar_dir, ir.output) == [A.InOut, A.NoDep, A.Scalar, A.Output]
    with pytest.raises(ValueError, match="1 directions for 2 arguments"):
        ir.make_call(ir.GlobalVar("k"), [x, y], directions=[ir.input])


def test_set_call_attrs_replaces_all() -> None:
    x = ir.Var("x", T)
    call = ir.make_call(ir.GlobalVar("k"), [x], directions=[ir.input])
    changed = ir.set_call_attrs(call, {"device": 3})
    assert dict(changed.attrs) == {"device": 3}
    assert call.arg_directions == [A.Input]
    with pytest.raises(TypeError, match="arg_directions"):
        ir.set_call_attrs(call, {"arg_directions": [A.Input, A.Input]})


def test_operator_queries() -> None:
    assert ir.get_op_memory_spec("tile.load")["output_memory"] is ir.MemorySpace.Vec
    assert ir.get_op_memory_spec("tensor.add") is None
    matmul = ir.get_op_memory_spec("tile.matmul")
    assert matmul["output_memory"] is ir.MemorySpace.Acc
    assert ir.MemorySpace.Left in matmul["input_constraints"][0]
    assert ir.get_op_arg_effect("tile.store", 2) is ir.ArgEffect.Write
    assert ir.get_op_arg_effect("tile.store", 2, atomic=1) is ir.ArgEffect.ReadWrite
    assert ir.get_op_arg_effect("tile.store", 0) is ir.ArgEffect.Read
    assert ir.op_has_declared_arg_effects("tile.store")
    assert not ir.op_has_declared_arg_effect("tile.store", 9)
    assert ir.get_op_write_channel("tile.store") is ir.WriteChannel.Dma
    assert ir.get_op_write_channel("tensor.write") is ir.WriteChannel.Scalar
    assert ir.get_op_write_channel("tile.add") is None
    with pytest.raises(ValueError, match=r"unknown operator 'tile.laod'"):
        ir.get_op_memory_spec("tile.laod")
