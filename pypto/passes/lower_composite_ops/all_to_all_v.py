"""``pld.tensor.all_to_all_v``: blocks of rows instead of rows, each with the number of its rows that are of use.

Whole blocks travel; the counts travel through the cells of ``recv_counts``, which are no barrier cells.
"""

from __future__ import annotations

from collections.abc import Sequence

from pypto.diagnostics import InvalidValueError
from pypto.ir import scalar
from pypto.ir.enums import AtomicType, NotifyOp
from pypto.ir.expr import Call, Expr, Var
from pypto.passes.lower_composite_ops.builder import LoweringBuilder, int_const
from pypto.passes.lower_composite_ops.chunks import stage
from pypto.passes.lower_composite_ops.operands import constant, operands, plain_tensor, rows_and_columns, shape_of
from pypto.passes.lower_composite_ops.protocol import Team, index, int32, meet, take_back
from pypto.passes.lower_composite_ops.rules import composite_rule


@composite_rule("pld.tensor.all_to_all_v", on_host=False, once=True)
def lower_all_to_all_v(call: Call, args: Sequence[Expr], b: LoweringBuilder) -> Expr:
    """The result is the target."""
    source, target, signal, send_counts, recv_counts = operands(call, args, 5)
    plain_tensor(call, source, "input")
    rows, columns = rows_and_columns(call, target)
    most = _rows_of_a_block(call, rows, signal)
    team = Team.of(b, target, signal)
    room = stage(b, "aav_stage", most, columns, target)
    flat = len(shape_of(send_counts)) == 1

    def push(inner: LoweringBuilder, dest: Var) -> None:
        count = inner.bind("aav_count", inner.call("tensor.read", send_counts, [dest] if flat else [dest, 0]))
        kept = inner.bind("aav_rows", scalar.min_(index(count), int_const(most), b.span))
        number = inner.bind("aav_count_i32", int32(kept))
        posted = inner.call("pld.system.notify", recv_counts, dest, [team.my_rank, 0], number, op=int(NotifyOp.Set))
        inner.bind("aav_count_notify", posted)
        to, from_ = (scalar.mul(rank, int_const(most), b.span) for rank in (team.my_rank, dest))
        where = ([to, 0], [from_, 0], [most, columns])
        inner.bind("aav_put", inner.call("pld.tile.put", target, dest, source, room, *where, atomic=int(AtomicType.None_)))

    b.for_each("dest", 0, team.nranks, 1, push)
    meet(b, team, "", NotifyOp.Set, 1)
    take_back(b, team, 1)
    return target


def _rows_of_a_block(call: Call, rows: Expr, signal: Expr) -> int:
    known, ranks = constant(rows), constant(shape_of(signal)[0])
    if known is None or not ranks:
        raise InvalidValueError(
            "all_to_all_v needs constant rows of target and signal",
            call.span,
            hint="the stage on the chip holds one block, whose rows are those of the target divided by those of the signal",
        )
    return known // ranks
