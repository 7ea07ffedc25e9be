"""What holds for every operator of these families: both spellings agree, required operands are asked for, effects are as tabled."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest

from pypto.diagnostics import Error, InvalidTypeError
from pypto.ir.enums import ArgEffect, AtomicType, WriteChannel
from pypto.ir.equality import structural_equal
from pypto.ir.expr import Call
from pypto.ir.op import create_op_call, declared_ops
from pypto.ops.declare import ArityError, Declaration
from tests.ops.operands import call, declared
from tests.ops.samples import SAMPLES

FAMILIES = (
    *("pypto.ops.memory", "pypto.ops.patterns", "pypto.ops.shaping", "pypto.ops.indexing", "pypto.ops.reduce"),
    *("pypto.ops.expand", "pypto.ops.matmul", "pypto.ops.system", "pypto.ops.gather", "pypto.ops.windows", "pypto.ops.sort"),
)


def _same(one: Call, other: Call) -> bool:
    return structural_equal(one, other, enable_auto_mapping=False)


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_positional_and_keyword_spelling_agree(name: str) -> None:
    declaration, sample = declared(name), SAMPLES[name]
    ordered = [p for p in declaration.params if p.name in sample]
    positional = [sample[p.name] for p in ordered if not p.keyword_only]
    keyword_only = {p.name: sample[p.name] for p in ordered if p.keyword_only}
    by_position = call(name, *positional, **keyword_only)
    by_name = call(name, **sample)
    assert _same(by_position, by_name)
    assert by_position.type == by_name.type
    for count in range(len(positional)):
        mixed = {p.name: sample[p.name] for p in ordered[count:]}
        assert _same(call(name, *positional[:count], **mixed), by_name)


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_a_built_call_is_what_its_operands_and_keywords_make(name: str) -> None:
    made = call(name, **SAMPLES[name])
    again = create_op_call(made.op.name, made.args, dict(made.kwargs))
    assert _same(made, again)
    assert made.type is again.type or made.type == again.type


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_wrong_numbers_of_operands_are_errors_of_this_project(name: str) -> None:
    declaration, sample = declared(name), SAMPLES[name]
    with pytest.raises(ArityError, match="has no parameter 'no_such'"):
        call(name, **sample, no_such=1)
    needed = [p.name for p in declaration.params if p.required]
    for left_out in needed:
        with pytest.raises(Error, match=left_out):
            call(name, **{k: v for k, v in sample.items() if k != left_out})
    values = [*sample.values()]
    for count in range(len(values) + 2):
        with contextlib.suppress(Error):
            call(name, *[*values, 1, 1][:count])


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_ir_calls_without_a_required_keyword_or_operand_are_refused(name: str) -> None:
    declaration, made = declared(name), call(name, **SAMPLES[name])
    for param in declaration.params:
        if not param.is_operand and param.required:
            rest = {k: v for k, v in made.kwargs.items() if k != param.name}
            with pytest.raises(ArityError, match=f"needs '{param.name}'"):
                create_op_call(name, made.args, rest)
    for count in range(len(made.args) + 3):
        with contextlib.suppress(Error):
            create_op_call(name, [*made.args, *made.args, *made.args][:count], dict(made.kwargs))


def test_a_stored_pad_value_is_a_member() -> None:
    made = call("tile.fillpad", **SAMPLES["tile.fillpad"])
    with pytest.raises(InvalidTypeError, match="pad_value"):
        create_op_call("tile.fillpad", made.args, {"pad_value": 3})


EFFECTS: dict[str, dict[str, ArgEffect]] = {
    "tile.store": {"output_tensor": ArgEffect.Write},
    "tensor.assemble": {"target": ArgEffect.Write},
    "tensor.scatter_update": {"input": ArgEffect.Write},
    "tile.mscatter": {"output_tensor": ArgEffect.Write},
    "tile.write": {"tile": ArgEffect.ReadWrite},
    "tensor.write": {"tensor": ArgEffect.ReadWrite},
    "system.syncall": {"gm_workspace": ArgEffect.ReadWrite},
}
SCRATCH = ("tmp_tile", "tmp")
ALIASES = {
    "tile.store": "output_tensor",
    "tensor.assemble": "target",
    "tile.set_validshape": "tile",
    "tensor.set_validshape": "tensor",
    "tile.reshape": "tile",
    "tensor.reshape": "tensor",
    "tensor.view": "tensor",
    "tensor.scatter_update": "input",
    "tile.mscatter": "output_tensor",
    "tensor.transpose": "tensor",
    "tile.transpose_view": "tile",
    "tensor.slice": "tensor",
}
CHANNELS = {
    **dict.fromkeys(("tile.store", "tensor.assemble", "tensor.scatter_update", "tile.mscatter"), WriteChannel.Dma),
    "tensor.write": WriteChannel.Scalar,
}


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_effects(name: str) -> None:
    declaration = declared(name)
    for at, param in enumerate(declaration.operand_params):
        scratch = ArgEffect.Write if param.name in SCRATCH else ArgEffect.Read
        assert declaration.arg_effect(at) is EFFECTS.get(name, {}).get(param.name, scratch), param.name
    assert declaration.alias == ALIASES.get(name)
    assert declaration.write_channel is CHANNELS.get(name)


def test_an_atomic_store_also_reads() -> None:
    for name, at in (("tile.store", 2), ("tensor.assemble", 0)):
        assert declared(name).arg_effect(at, {"atomic": int(AtomicType.Add)}) is ArgEffect.ReadWrite
        assert declared(name).arg_effect(at, {}) is ArgEffect.Write


def test_every_operator_of_these_families_has_a_sample() -> None:
    missing: list[str] = []
    for declaration in declared_ops():
        if isinstance(declaration, Declaration) and declaration.result.__module__ in FAMILIES and declaration.name not in SAMPLES:
            missing.append(declaration.name)
    assert not missing


def test_bare_names() -> None:
    from pypto.ops.vocabulary import lookup

    for path, name in {
        "load": "tile.load",
        "store": "tile.store",
        "create_tile": "tile.create",
        "tile.create_tile": "tile.create",
        "create_tensor": "tensor.create",
        "arange": "tensor.ci",
        "tile.arange": "tile.ci",
        "full": "tensor.full",
        "move": "tile.move",
        "tri": "tile.tri",
        "random": "tensor.random",
        "dim": "tensor.dim",
        "gemv": "tile.gemv",
        "get_block_idx": "tensor.get_block_idx",
        "expand_clone": "tensor.expand_clone",
        "matmul_bias": "tile.matmul_bias",
    }.items():
        found: Any = lookup(path)
        assert found is declared(name), path
    for both in (
        "reshape",
        "transpose",
        "slice",
        "concat",
        "fillpad",
        "matmul",
        "row_sum",
        "col_max",
        "read",
        "write",
        "assemble",
    ):
        found = lookup(both)
        assert set(found.choices) == {"tensor", "tile"}, both
    assert lookup("create") is None
    assert lookup("ci") is None


def test_moves_work_on_masks() -> None:
    mask = np.zeros((8, 16), np.bool_)
    mask[2, 3] = True
    from tests.ops.operands import run

    made = call("tile.slice", SAMPLES["tile.move"]["tile"], [4, 8], [0, 0])
    assert run(made, mask).sum() == 1
