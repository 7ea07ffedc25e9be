"""Collectives: what they accept and refuse, what they do to their operands, and their meanings against step-by-step simulations."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from pypto.diagnostics import Error, InvalidValueError
from pypto.ir.dtypes import DataType
from pypto.ir.enums import ArgEffect, ReduceOp, TensorLayout
from pypto.ir.expr import Var
from pypto.ir.op import create_op_call
from pypto.ir.types import DistributedTensorType, TensorView
from pypto.ops.collectives import ring_boundaries
from pypto.ops.declare import ArityError, KeywordError, OperandError, OperandTypeError, RankCount
from tests.ops.operands import call, declared, distributed, numbers, scalar, tensor, tile

FP16, FP32, BF16, INT32 = DataType.FP16, DataType.FP32, DataType.BF16, DataType.INT32
DATA, OTHER = distributed([4, 16]), distributed([4, 16])
SIGNAL, COUNTS = distributed([4, 1], INT32), distributed([4, 1], INT32)
ROWS, ROW = tensor([4, 16]), tensor([1, 16])
SEND = tensor([4], INT32)
LEAVES = ["allreduce", "barrier", "broadcast", "reduce_scatter", "allgather", "all_to_all", "all_to_all_v"]


def operands(leaf: str) -> list[Var]:
    """Operands that a collective takes."""
    return {
        "allreduce": [DATA, SIGNAL],
        "barrier": [SIGNAL],
        "broadcast": [DATA, SIGNAL],
        "reduce_scatter": [DATA, SIGNAL],
        "allgather": [ROW, DATA, SIGNAL],
        "all_to_all": [ROWS, DATA, SIGNAL],
        "all_to_all_v": [ROWS, DATA, SIGNAL, SEND, COUNTS],
    }[leaf]


def needed(leaf: str) -> dict[str, Any]:
    return {"root": 0} if leaf == "broadcast" else {}


# -- forms and results -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("leaf", LEAVES)
def test_by_position_and_by_name(leaf: str) -> None:
    given = operands(leaf)
    names = [p.name for p in declared(f"pld.tensor.{leaf}").operand_params]
    result = SIGNAL if leaf == "barrier" else DATA
    for count in range(len(given) + 1):
        made = call(f"pld.tensor.{leaf}", *given[:count], **dict(zip(names[count:], given[count:], strict=True)), **needed(leaf))
        assert all(a is b for a, b in zip(made.args, given, strict=True))
        assert made.type is result.type


@pytest.mark.parametrize(
    ("leaf", "named", "stored"),
    [
        ("allreduce", {}, {"op": 0, "mode": "mesh", "core_num": 1}),
        ("allreduce", {"op": ReduceOp.Prod, "mode": "ring", "core_num": 4}, {"op": 3, "mode": "ring", "core_num": 4}),
        ("allreduce", {"mode": "tree"}, {"op": 0, "mode": "tree", "core_num": 1}),
        ("barrier", {}, {}),
        ("broadcast", {"root": 7}, {"root": 7}),
        ("reduce_scatter", {}, {"op": 0}),
        ("reduce_scatter", {"op": 0}, {"op": 0}),
        ("allgather", {}, {}),
        ("all_to_all", {}, {}),
        ("all_to_all_v", {}, {}),
    ],
)
def test_stored_keywords(leaf: str, named: dict[str, Any], stored: dict[str, Any]) -> None:
    made = call(f"pld.tensor.{leaf}", *operands(leaf), **named)
    assert dict(made.kwargs) == stored
    assert list(made.kwargs) == list(stored)
    assert all(type(v) is type(stored[k]) for k, v in made.kwargs.items())


def test_a_signal_may_be_left_out_but_not_be_none() -> None:
    assert len(call("pld.tensor.allreduce", DATA).args) == 1
    for positional, named in (([None], {}), ([], {"signal": None})):
        with pytest.raises(TypeError, match="DistributedTensor as 'signal', not None") as caught:
            call("pld.tensor.allreduce", DATA, *positional, **named)
        assert isinstance(caught.value, Error)
        assert caught.value.hint == "leave 'signal' out"


def test_results_keep_the_view_of_the_target() -> None:
    part = Var("d", DistributedTensorType([4, 16], FP32, None, TensorView([], TensorLayout.ND, [2, 16])))
    assert call("pld.tensor.allreduce", part, SIGNAL).type is part.type
    assert call("pld.tensor.broadcast", part, SIGNAL, root=0).type is part.type


@pytest.mark.parametrize(
    ("leaf", "given"),
    [
        ("allreduce", [distributed([17], FP16), distributed([6, 4], INT32)]),
        ("allreduce", [distributed([3, 5, 7]), distributed([8], INT32)]),
        ("allreduce", [distributed([scalar("n"), 16]), distributed([scalar("r"), 1], INT32)]),
        ("broadcast", [distributed([3, 5, 7], BF16), distributed([8], INT32)]),
        ("broadcast", [distributed([4, 1], INT32), SIGNAL]),
        ("reduce_scatter", [distributed([4, 8], INT32), SIGNAL]),
        ("allgather", [tile([1, 16]), DATA, SIGNAL]),
        ("allgather", [distributed([1, 16]), DATA, SIGNAL]),
        ("allgather", [ROW, DATA, distributed([4], INT32)]),
        ("allgather", [tensor([scalar("one"), 16]), DATA, SIGNAL]),
        ("allgather", [ROW, distributed([scalar("r"), 16]), SIGNAL]),
        ("allgather", [tensor([1, 16], FP16), distributed([4, 16], FP16), SIGNAL]),
        ("all_to_all", [OTHER, DATA, distributed([4], INT32)]),
        ("all_to_all", [tensor([scalar("r"), 16]), distributed([scalar("q"), 16]), SIGNAL]),
        ("all_to_all_v", [OTHER, DATA, SIGNAL, tensor([4, 1], INT32), COUNTS]),
        ("all_to_all_v", [tensor([12, 16]), distributed([12, 16]), SIGNAL, distributed([4], INT32), COUNTS]),
    ],
)
def test_what_is_taken(leaf: str, given: list[Var]) -> None:
    made = call(f"pld.tensor.{leaf}", *given, **needed(leaf))
    target = given[0] if leaf in ("allreduce", "broadcast", "reduce_scatter") else given[1]
    assert made.type is target.type


# -- refused ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("leaf", "given", "error", "words"),
    [
        ("allreduce", [ROWS, SIGNAL], OperandTypeError, "DistributedTensor as 'target', got FP32 tensor"),
        ("allreduce", [tile([1, 16]), SIGNAL], OperandTypeError, "DistributedTensor as 'target', got FP32 tile"),
        ("allreduce", [distributed([4], BF16), SIGNAL], OperandError, "FP16 or FP32 as 'target', got BF16"),
        ("allreduce", [SIGNAL, SIGNAL], OperandError, "FP16 or FP32 as 'target', got INT32"),
        ("allreduce", [DATA, SEND], OperandTypeError, "DistributedTensor as 'signal', got INT32 tensor"),
        ("allreduce", [DATA, DATA], OperandError, "INT32 distributed tensor as 'signal', got FP32"),
        ("allreduce", [DATA, distributed([4], DataType.INT64)], OperandError, "INT32 distributed tensor as 'signal', got INT64"),
        ("allreduce", [DATA, SIGNAL, SIGNAL], ArityError, "at most 2 positional arguments, got 3"),
        ("allreduce", [], ArityError, "needs 'target'"),
        ("barrier", [DATA], OperandError, "INT32 distributed tensor as 'signal'"),
        ("barrier", [SEND], OperandTypeError, "DistributedTensor as 'signal'"),
        ("barrier", [], ArityError, "needs 'signal'"),
        ("barrier", [SIGNAL, SIGNAL], ArityError, "at most 1 positional argument, got 2"),
        ("broadcast", [DATA, DATA], OperandError, "INT32 distributed tensor as 'signal'"),
        ("broadcast", [ROWS, SIGNAL], OperandTypeError, "DistributedTensor as 'target'"),
        ("broadcast", [SIGNAL, SIGNAL], OperandError, "'target' and 'signal' to be different"),
        ("broadcast", [DATA], ArityError, "needs 'signal'"),
        ("reduce_scatter", [distributed([4]), SIGNAL], OperandError, "2-D 'target', got FP32 distributed tensor [4]"),
        ("reduce_scatter", [distributed([1, 4, 4]), SIGNAL], OperandError, "2-D 'target'"),
        ("reduce_scatter", [SIGNAL, SIGNAL], OperandError, "'target' and 'signal' to be different"),
        ("reduce_scatter", [ROWS, SIGNAL], OperandTypeError, "DistributedTensor as 'target'"),
        ("allgather", [ROWS, DATA, SIGNAL], OperandError, "one row as 'local_data', got FP32 tensor [4, 16]"),
        ("allgather", [tensor([16]), DATA, SIGNAL], OperandError, "2-D 'local_data'"),
        ("allgather", [ROW, distributed([64]), SIGNAL], OperandError, "2-D 'target'"),
        ("allgather", [tensor([1, 8]), DATA, SIGNAL], OperandError, "the target's width and type"),
        ("allgather", [tensor([1, 16], FP16), DATA, SIGNAL], OperandError, "the target's width and type"),
        ("allgather", [DATA, DATA, SIGNAL], OperandError, "'local_data' and 'target' to be different"),
        ("allgather", [ROW, ROWS, SIGNAL], OperandTypeError, "DistributedTensor as 'target'"),
        ("allgather", [scalar(), DATA, SIGNAL], OperandTypeError, "Tensor or Tile as 'local_data', got INDEX scalar"),
        ("allgather", [ROW, DATA, distributed([4, 2], INT32)], OperandError, "'signal' of shape [NR] or [NR, 1]"),
        ("allgather", [ROW, DATA, distributed([4, 1, 1], INT32)], OperandError, "'signal' of shape [NR] or [NR, 1]"),
        ("allgather", [ROW, DATA, distributed([4, scalar()], INT32)], OperandError, "'signal' of shape [NR] or [NR, 1]"),
        ("allgather", [ROW, DATA, distributed([3, 1], INT32)], OperandError, "one number of ranks throughout, got 4 and 3"),
        ("allgather", [tensor([1, 1], INT32), SIGNAL, SIGNAL], OperandError, "'target' and 'signal' to be different"),
        ("all_to_all", [ROW, DATA, SIGNAL], OperandError, "of one shape and type"),
        ("all_to_all", [tensor([4, 16], FP16), DATA, SIGNAL], OperandError, "of one shape and type"),
        ("all_to_all", [tensor([64]), DATA, SIGNAL], OperandError, "2-D 'input'"),
        ("all_to_all", [tile([4, 16]), DATA, SIGNAL], OperandTypeError, "Tensor as 'input', got FP32 tile"),
        ("all_to_all", [DATA, DATA, SIGNAL], OperandError, "'input' and 'target' to be different"),
        ("all_to_all", [ROWS, ROWS, SIGNAL], OperandTypeError, "DistributedTensor as 'target'"),
        ("all_to_all", [ROWS, DATA, distributed([3], INT32)], OperandError, "one number of ranks throughout, got 4 and 3"),
        ("all_to_all_v", [ROWS, DATA, SIGNAL, SEND], ArityError, "needs 'recv_counts'"),
        ("all_to_all_v", [ROWS, DATA, SIGNAL, SEND, COUNTS, COUNTS], ArityError, "at most 5 positional"),
        ("all_to_all_v", [ROWS, DATA, distributed([4], INT32), SEND, COUNTS], OperandError, "'signal' of shape [NR, 1]"),
        ("all_to_all_v", [ROWS, DATA, SIGNAL, SEND, distributed([4], INT32)], OperandError, "'recv_counts' of shape [NR, 1]"),
        (
            "all_to_all_v",
            [ROWS, DATA, SIGNAL, SEND, distributed([4, 1])],
            OperandError,
            "INT32 distributed tensor as 'recv_counts'",
        ),
        ("all_to_all_v", [ROWS, DATA, SIGNAL, SEND, SEND], OperandTypeError, "DistributedTensor as 'recv_counts'"),
        ("all_to_all_v", [ROWS, DATA, SIGNAL, tensor([4]), COUNTS], OperandError, "INT32 as 'send_counts', got FP32"),
        (
            "all_to_all_v",
            [ROWS, DATA, SIGNAL, tensor([4, 2], INT32), COUNTS],
            OperandError,
            "'send_counts' of shape [NR] or [NR, 1]",
        ),
        (
            "all_to_all_v",
            [ROWS, DATA, SIGNAL, tensor([1, 4], INT32), COUNTS],
            OperandError,
            "'send_counts' of shape [NR] or [NR, 1]",
        ),
        ("all_to_all_v", [ROWS, DATA, SIGNAL, tile([4, 1], INT32), COUNTS], OperandTypeError, "Tensor as 'send_counts'"),
        (
            "all_to_all_v",
            [ROWS, DATA, SIGNAL, tensor([3], INT32), COUNTS],
            OperandError,
            "one number of ranks throughout, got 4 and 3",
        ),
        ("all_to_all_v", [tensor([6, 8]), distributed([6, 8]), SIGNAL, SEND, COUNTS], OperandError, "6 rows for 4 ranks"),
        ("all_to_all_v", [ROWS, distributed([scalar("n"), 16]), SIGNAL, SEND, COUNTS], OperandError, "constant number of rows"),
    ],
)
def test_refused_operands(leaf: str, given: list[Var], error: type[Error], words: str) -> None:
    with pytest.raises(error) as caught:
        call(f"pld.tensor.{leaf}", *given, **needed(leaf))
    assert caught.value.message.startswith(f"pld.tensor.{leaf}")
    assert words in caught.value.message


@pytest.mark.parametrize(
    ("leaf", "named", "error", "words"),
    [
        ("allreduce", {"op": 4}, InvalidValueError, "'op' as one of Sum 0, Max 1, Min 2, Prod 3; got 4"),
        ("allreduce", {"op": -1}, InvalidValueError, "'op' as one of"),
        ("allreduce", {"op": True}, TypeError, "'op' as one of"),
        ("allreduce", {"op": "Sum"}, TypeError, "got 'Sum'"),
        ("allreduce", {"op": None}, TypeError, "'op' as one of"),
        ("allreduce", {"mode": 1}, TypeError, "a str as 'mode', got 1"),
        ("allreduce", {"mode": None}, TypeError, "a str as 'mode', got None"),
        ("allreduce", {"core_num": 0}, KeywordError, "a positive 'core_num', got 0"),
        ("allreduce", {"core_num": -3}, KeywordError, "a positive 'core_num', got -3"),
        ("allreduce", {"core_num": True}, TypeError, "an int as 'core_num', got True"),
        ("allreduce", {"core_num": 2.0}, TypeError, "an int as 'core_num', got 2.0"),
        ("allreduce", {"core_num": None}, TypeError, "an int as 'core_num', got None"),
        ("allreduce", {"root": 0}, ArityError, "no parameter 'root'"),
        ("broadcast", {}, ArityError, "needs 'root'"),
        ("broadcast", {"root": -1}, KeywordError, "'root' from 0, got -1"),
        ("broadcast", {"root": True}, TypeError, "an int as 'root', got True"),
        ("broadcast", {"root": 0.0}, TypeError, "an int as 'root', got 0.0"),
        ("broadcast", {"root": None}, TypeError, "an int as 'root', got None"),
        ("reduce_scatter", {"op": ReduceOp.Max}, KeywordError, "'op' as one of ReduceOp.Sum; got ReduceOp.Max"),
        ("reduce_scatter", {"op": 3}, KeywordError, "'op' as one of ReduceOp.Sum; got ReduceOp.Prod"),
        ("reduce_scatter", {"mode": "mesh"}, ArityError, "no parameter 'mode'"),
        ("barrier", {"core_num": 1}, ArityError, "no parameter 'core_num'"),
    ],
)
def test_refused_keywords(leaf: str, named: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error) as caught:
        call(f"pld.tensor.{leaf}", *operands(leaf), **named)
    assert isinstance(caught.value, Error)
    assert words in caught.value.message
    assert caught.value.parameter == (next(iter(named)) if named else "root")


def test_without_a_signal_there_is_only_the_mesh() -> None:
    with pytest.raises(KeywordError, match="without a signal runs as a mesh only, got mode='ring'") as caught:
        call("pld.tensor.allreduce", DATA, mode="ring")
    assert caught.value.parameter == "mode"


@pytest.mark.parametrize("leaf", LEAVES)
def test_no_operand_that_is_written_stands_twice(leaf: str) -> None:
    """Every pair of operands; where kinds differ that is refused for the kind."""
    declaration = declared(f"pld.tensor.{leaf}")
    given = operands(leaf)
    for one, other in itertools.combinations(range(len(given)), 2):
        for kept, replaced in ((one, other), (other, one)):
            twice = [*given]
            twice[replaced] = given[kept]
            effects = {declaration.arg_effect(at) for at in (one, other)}
            if effects == {ArgEffect.Read}:
                continue
            with pytest.raises(Error):
                create_op_call(declaration.name, twice, {"root": 0} if leaf == "broadcast" else _stored(leaf))


def _stored(leaf: str) -> dict[str, Any]:
    return dict(call(f"pld.tensor.{leaf}", *operands(leaf)).kwargs)


@pytest.mark.parametrize("leaf", ["allreduce", "reduce_scatter"])
def test_a_call_from_a_pass_states_its_reduction(leaf: str) -> None:
    with pytest.raises(ArityError, match="needs 'op'"):
        create_op_call(f"pld.tensor.{leaf}", operands(leaf), {})


# -- facts -----------------------------------------------------------------------------------------------------------------------

READ, WRITE, BOTH = ArgEffect.Read, ArgEffect.Write, ArgEffect.ReadWrite


@pytest.mark.parametrize(
    ("leaf", "effects"),
    [
        ("allreduce", [BOTH, BOTH]),
        ("barrier", [BOTH]),
        ("broadcast", [BOTH, BOTH]),
        ("reduce_scatter", [BOTH, BOTH]),
        ("allgather", [READ, BOTH, BOTH]),
        ("all_to_all", [READ, BOTH, BOTH]),
        ("all_to_all_v", [READ, BOTH, BOTH, READ, WRITE]),
    ],
)
def test_effects(leaf: str, effects: list[ArgEffect]) -> None:
    declaration = declared(f"pld.tensor.{leaf}")
    assert [declaration.arg_effect(at) for at in range(len(effects))] == effects
    assert declaration.arg_effect(len(effects)) is None
    assert declaration.collective
    assert declaration.composite
    assert declaration.communicates
    assert declaration.alias == ("signal" if leaf == "barrier" else "target")


@pytest.mark.parametrize(
    ("leaf", "given", "named", "expected"),
    [
        ("allreduce", [DATA, SIGNAL], {}, RankCount(1, 4)),
        ("allreduce", [DATA], {}, RankCount()),
        ("allreduce", [DATA, distributed([6, 4], INT32)], {"mode": "ring"}, RankCount(4, 4)),
        ("allreduce", [DATA, distributed([scalar("m"), scalar("n")], INT32)], {"mode": "ring"}, RankCount(2)),
        ("barrier", [SIGNAL], {}, RankCount(1, 4)),
        ("broadcast", [DATA, SIGNAL], {"root": 2}, RankCount(3, 4)),
        ("reduce_scatter", [DATA, SIGNAL], {}, RankCount(4, 4)),
        ("allgather", [ROW, DATA, SIGNAL], {}, RankCount(4, 4)),
        ("all_to_all", [ROWS, DATA, SIGNAL], {}, RankCount(4, 4)),
        ("all_to_all_v", [ROWS, DATA, SIGNAL, SEND, COUNTS], {}, RankCount(4, 4)),
    ],
)
def test_ranks(leaf: str, given: list[Var], named: dict[str, Any], expected: RankCount) -> None:
    made = call(f"pld.tensor.{leaf}", *given, **named)
    ranks: Any = declared(f"pld.tensor.{leaf}").ranks
    assert ranks(made.args, made.kwargs) == expected


# -- meaning ---------------------------------------------------------------------------------------------------------------------


def meaning(leaf: str) -> Any:
    return declared(f"pld.tensor.{leaf}").meaning


def random(ranks: int, shape: tuple[int, ...], dtype: Any) -> list[Any]:
    return [np.random.default_rng(100 + r).uniform(-2, 2, shape).astype(dtype) for r in range(ranks)]


def combine(op: ReduceOp, left: Any, right: Any) -> Any:
    """One reduction of two numbers, on Python's own terms."""
    if op is ReduceOp.Sum:
        return left + right
    if op is ReduceOp.Prod:
        return left * right
    return (max if op is ReduceOp.Max else min)(left, right)


def mesh(values: list[Any], op: ReduceOp) -> list[Any]:
    """Each rank starts with its own value and takes the peers in ascending order, element by element."""
    results = []
    for rank, own in enumerate(values):
        result = own.copy()
        for at in np.ndindex(own.shape):
            total = own[at]
            for peer in range(len(values)):
                if peer != rank:
                    total = combine(op, total, values[peer][at])
            result[at] = total
        results.append(result)
    return results


def ring(values: list[Any], op: ReduceOp) -> list[Any]:
    """The two rounds of a ring, step by step: reduce into the segments, then hand the finished segments on."""
    ranks = len(values)
    size, half = values[0].size, values[0].dtype == np.float16

    def begin(segment: int) -> int:
        if half:
            return min((segment * size + ranks * 16 - 1) // (ranks * 16) * 16, size)
        return segment * size // ranks

    state = [v.reshape(-1).copy() for v in values]
    for step in range(1, ranks):
        before = [s.copy() for s in state]
        for rank in range(ranks):
            segment, left = (rank - step - 1) % ranks, (rank - 1) % ranks
            for at in range(begin(segment), begin(segment + 1)):
                state[rank][at] = combine(op, before[rank][at], before[left][at])
    for step in range(1, ranks):
        before = [s.copy() for s in state]
        for rank in range(ranks):
            segment, left = (rank - step) % ranks, (rank - 1) % ranks
            part = slice(begin(segment), begin(segment + 1))
            state[rank][part] = before[left][part]
    return [s.reshape(values[0].shape) for s in state]


def same_bits(found: list[Any], expected: list[Any]) -> None:
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one.view(f"u{one.itemsize}"), other.view(f"u{other.itemsize}"))


@pytest.mark.parametrize("op", list(ReduceOp))
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize(("ranks", "shape"), [(1, (3,)), (2, (17,)), (3, (2, 9)), (4, (2, 3, 5)), (7, (5,))])
def test_a_mesh_adds_its_own_value_then_its_peers(op: ReduceOp, dtype: Any, ranks: int, shape: tuple[int, ...]) -> None:
    values = random(ranks, shape, dtype)
    found = [v.copy() for v in values]
    assert meaning("allreduce")(found, op=int(op), mode="mesh") is None
    same_bits(found, mesh(values, op))


@pytest.mark.parametrize("op", list(ReduceOp))
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize(
    ("ranks", "shape"), [(2, (17,)), (3, (17,)), (4, (100,)), (4, (2, 50)), (4, (17,)), (5, (3,)), (3, (1, 33)), (2, (102,))]
)
def test_a_ring_adds_along_the_ring(op: ReduceOp, dtype: Any, ranks: int, shape: tuple[int, ...]) -> None:
    values = random(ranks, shape, dtype)
    found = [v.copy() for v in values]
    signal = [np.zeros((2 * (ranks - 1), ranks), np.int32) for _ in range(ranks)]
    meaning("allreduce")(found, op=int(op), mode="ring", signal=signal)
    same_bits(found, ring(values, op))
    same_bits(found, [found[0]] * ranks)


def test_the_two_modes_round_differently() -> None:
    values = random(4, (100,), np.float16)
    one, other = [v.copy() for v in values], [v.copy() for v in values]
    meaning("allreduce")(one, op=0, mode="mesh")
    meaning("allreduce")(other, op=0, mode="ring")
    assert any((a != b).any() for a, b in zip(one, other, strict=True))


def test_an_overflow_is_infinite_and_silent() -> None:
    values = [np.full((3,), 6e4, np.float16) for _ in range(3)]
    meaning("allreduce")(values, op=0, mode="mesh")
    assert all(np.isposinf(v).all() for v in values)
    values = [np.full((2, 3), 6e4, np.float16) for _ in range(2)]
    meaning("reduce_scatter")(values, op=0)
    assert np.isposinf(values[0][0]).all()


@pytest.mark.parametrize(
    ("size", "ranks", "aligned", "expected"),
    [
        (100, 4, False, [0, 25, 50, 75, 100]),
        (100, 4, True, [0, 32, 64, 80, 100]),
        (17, 4, True, [0, 16, 16, 16, 17]),
        (33, 4, True, [0, 16, 32, 32, 33]),
        (17, 2, False, [0, 8, 17]),
        (102, 2, True, [0, 64, 102]),
        (65537, 4, True, [0, 16400, 32784, 49168, 65537]),
        (3, 5, False, [0, 0, 1, 1, 2, 3]),
    ],
)
def test_segments_of_a_ring(size: int, ranks: int, aligned: bool, expected: list[int]) -> None:
    assert ring_boundaries(size, ranks, aligned) == expected


def test_a_ring_of_another_size() -> None:
    values = random(3, (8,), np.float32)
    signal = [np.zeros((2, 2), np.int32) for _ in range(3)]
    with pytest.raises(InvalidValueError, match="made for a ring of 2 ranks, the run has 3"):
        meaning("allreduce")(values, op=0, mode="ring", signal=signal)


@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_broadcast(ranks: int) -> None:
    for root in range(ranks):
        values = random(ranks, (2, 3), np.float32)
        sent = values[root].copy()
        meaning("broadcast")(values, root=root)
        same_bits(values, [sent] * ranks)
    with pytest.raises(InvalidValueError, match=f"rank {ranks} is the root of a broadcast between {ranks} ranks"):
        meaning("broadcast")(random(ranks, (2,), np.float32), root=ranks)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32])
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_reduce_scatter(ranks: int, dtype: Any) -> None:
    values = [numbers(ranks, 7, dtype=dtype, seed=r) for r in range(ranks)]
    if dtype != np.int32:
        values = random(ranks, (ranks, 7), dtype)
    expected = [v.copy() for v in values]
    for rank in range(ranks):
        for column in range(7):
            total = values[rank][rank, column]
            for peer in range(ranks):
                if peer != rank:
                    total = total + values[peer][rank, column]
            expected[rank][rank, column] = total
    meaning("reduce_scatter")(values, op=0)
    same_bits(values, expected)


@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_allgather(ranks: int) -> None:
    rows = random(ranks, (1, 6), np.float32)
    targets = [np.full((ranks, 6), -9, np.float32) for _ in range(ranks)]
    meaning("allgather")(rows, targets)
    same_bits(targets, [np.stack([r[0] for r in rows])] * ranks)


def test_allgather_of_rows_of_the_targets_themselves() -> None:
    targets = random(3, (3, 4), np.float32)
    rows = [t[:1] for t in targets]
    expected = np.concatenate([r.copy() for r in rows])
    meaning("allgather")(rows, targets)
    same_bits(targets, [expected] * 3)


@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_all_to_all(ranks: int) -> None:
    sources = random(ranks, (ranks, 6), np.float16)
    targets = [np.zeros((ranks, 6), np.float16) for _ in range(ranks)]
    meaning("all_to_all")(sources, targets)
    for receiver, sender in itertools.product(range(ranks), repeat=2):
        np.testing.assert_array_equal(targets[receiver][sender], sources[sender][receiver])


@pytest.mark.parametrize("column", [False, True])
@pytest.mark.parametrize(
    "counts",
    [
        [[0, 3, 0, 1], [0, 0, 0, 0], [4, 4, 4, 4], [0, 0, 5, 0]],
        [[9, 4, 0, 2]] * 4,
        [[0] * 4] * 4,
    ],
)
def test_all_to_all_v(counts: list[list[int]], column: bool) -> None:
    ranks, most = 4, 4
    sources = random(ranks, (ranks * most, 8), np.float32)
    targets = [np.full((ranks * most, 8), -1, np.float32) for _ in range(ranks)]
    sent = [np.array(c, np.int32).reshape((ranks, 1) if column else (ranks,)) for c in counts]
    received = [np.full((ranks, 1), -1, np.int32) for _ in range(ranks)]
    assert meaning("all_to_all_v")(sources, targets, sent, received) is None
    for receiver, sender in itertools.product(range(ranks), repeat=2):
        assert received[receiver][sender, 0] == min(counts[sender][receiver], most)
        block = slice(sender * most, (sender + 1) * most)
        np.testing.assert_array_equal(targets[receiver][block], sources[sender][receiver * most : (receiver + 1) * most])


def test_a_barrier_touches_nothing() -> None:
    cells = [np.full((2, 1), 5, np.int32) for _ in range(2)]
    assert meaning("barrier")(cells) is None
    same_bits(cells, [np.full((2, 1), 5, np.int32)] * 2)
