"""Every collective against its listing in the specification, written out by hand: operators, names, operands and keywords in order."""

from __future__ import annotations

import pytest
from collective_kernels import all_to_all, all_to_all_v, allgather, allreduce, barrier, broadcast, partial, reduce_scatter, ring
from listing import listing, written

import pypto.language as pl
import pypto.language.distributed as pld
from pypto import ir, passes


def check(program: ir.Program, text: str, signals: str = "single_shot") -> None:
    assert listing(passes.lower_composite_ops(signals=signals)(program)) == written(text)


def credited(text: str, reset: str) -> str:
    """The listing with credits: every post of a barrier adds, and the reset stands before the last assignment."""
    lines = [line.replace(" Set ", " AtomicAdd ") if "SYNC" in line else line for line in text.splitlines()]
    at = next(i for i, line in enumerate(lines) if line.strip().startswith(("data = ", "signal = ")))
    pad = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    return "\n".join([*lines[:at], *(pad + line for line in reset.splitlines()), *lines[at:]])


def both(program: ir.Program, text: str, reset: str) -> None:
    check(program, text)
    check(program, credited(text, reset), "credit")


def test_barrier() -> None:
    text = """
        SETUP signal
        SYNC - Set #1:i32
        signal = signal
        RETURN signal
    """
    both(barrier(2), text, "RESET #-1:i32")


def test_broadcast() -> None:
    text = """
        SETUP data
        SYNC - Set #1:i32
        SET bcast_stage := tile.create(T(#6, #16)){dtype=FP32, target_memory=Vec}
        SET get_ret := pld.tile.get(data, #1:i32, data, bcast_stage)
        data = data
        RETURN data
    """
    both(broadcast(2, root=1, shape=(2, 3, 16)), text, "RESET #-1:i32")


def test_allgather() -> None:
    text = """
        SETUP data
        SET ag_stage := tile.create(T(#1, #24)){dtype=FP32, target_memory=Vec}
        EACH peer in #0..nranks_idx by #1:
            SET push := pld.tile.put(data, peer, x, ag_stage, T(my_rank, #0), T(#0, #0), T(#1, #24)){atomic=None}
        SYNC - Set #1:i32
        data = data
        RETURN data
    """
    both(allgather(2), text, "RESET #-1:i32")


def test_allgather_of_a_tile() -> None:
    n = pl.dynamic("n")

    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        x: pl.Tile[[1, 24], pl.FP16, pl.Mem.Vec],
        data: pl.InOut[pld.DistributedTensor[[n, 24], pl.FP16]],
        signal: pl.InOut[pld.DistributedTensor[[n, 1], pl.INT32]],
    ):
        data = pld.tensor.allgather(local_data=x, target=data, signal=signal)
        return data

    text = """
        SETUP data
        SET ag_stage := tile.create(T(#1, #24)){dtype=FP16, target_memory=Vec}
        EACH peer in #0..nranks_idx by #1:
            SET push := pld.tile.put(data, peer, x, ag_stage, T(my_rank, #0), T(#0, #0), T(#1, #24)){atomic=None}
        SYNC - Set #1:i32
        data = data
        RETURN data
    """
    both(ir.Program([kernel], "P"), text, "RESET #-1:i32")


def test_reduce_scatter() -> None:
    text = """
        SETUP data
        SYNC - Set #1:i32
        SET acc_initial := tile.load(data, T(my_rank, #0), T(#1, #24), T(#1, #24)){target_memory=Vec}
        FOLD peer in #0..nranks_idx by #1, peer_acc=acc_initial -> peer_final:
            PICK peer != idx(my_rank) -> if_res:
                SET recv := pld.tile.remote_load(data, peer, T(my_rank, #0), T(#1, #24))
                SET acc_next := tile.add(peer_acc, recv)
                YIELD acc_next
            ELSE
                YIELD peer_acc
            YIELD if_res
        SYNC 2 AtomicAdd #2:i32
        SET store_ret := tile.store(peer_final, T(my_rank, #0), data)
        data = data
        RETURN data
    """
    both(reduce_scatter(2), text, "RESET #-2:i32")


def test_all_to_all() -> None:
    text = """
        SETUP data
        SET aa_stage := tile.create(T(#1, #24)){dtype=FP32, target_memory=Vec}
        EACH dest in #0..nranks_idx by #1:
            SET aa_put := pld.tile.put(data, dest, x, aa_stage, T(my_rank, #0), T(dest, #0), T(#1, #24)){atomic=None}
        SYNC - Set #1:i32
        data = data
        RETURN data
    """
    both(all_to_all(2), text, "RESET #-1:i32")


@pytest.mark.parametrize(("flat", "at"), [(True, "T(dest)"), (False, "T(dest, #0)")])
def test_all_to_all_v(flat: bool, at: str) -> None:
    text = f"""
        SETUP data
        SET aav_stage := tile.create(T(#4, #8)){{dtype=FP32, target_memory=Vec}}
        EACH dest in #0..nranks_idx by #1:
            SET aav_count := tensor.read(send, {at})
            SET aav_rows := min(idx(aav_count), #4)
            SET aav_count_i32 := i32(aav_rows)
            SET aav_count_notify := pld.system.notify(received, dest, T(my_rank, #0), aav_count_i32){{op=Set}}
            SET aav_put := pld.tile.put(data, dest, x, aav_stage, T(idx(my_rank) * #4, #0), T(dest * #4, #0), T(#4, #8)){{atomic=None}}
        SYNC - Set #1:i32
        data = data
        RETURN data
    """
    both(all_to_all_v(3, flat=flat), text, "RESET #-1:i32")


REDUCE = {
    "tile.add": pld.ReduceOp.Sum,
    "tile.maximum": pld.ReduceOp.Max,
    "tile.minimum": pld.ReduceOp.Min,
    "tile.mul": pld.ReduceOp.Prod,
}


def mesh(size: str, chunk: int, received: str, reduce: str = "tile.add") -> str:
    valid = f"min(#{chunk}, {size} - col)"
    return f"""
        SETUP data
        SET target_2d := tensor.view(data, T(#1, {size}))
        SYNC - AtomicAdd #1:i32
        EACH col in #0..{size} by #{chunk}:
            SET acc_loaded := tile.load(target_2d, T(#0, col), T(#1, #{chunk}), T(#1, {valid})){{target_memory=Vec}}
            SET acc_initial := tile.fillpad_inplace(acc_loaded){{pad_value=zero}}
            FOLD peer in #0..nranks_idx by #1, peer_acc=acc_initial -> peer_final:
                PICK peer != idx(my_rank) -> if_res:
                    {received.strip()}
                    SET acc_next := {reduce}(peer_acc, recv)
                    YIELD acc_next
                ELSE
                    YIELD peer_acc
                YIELD if_res
            SET chunk_expected := i32(col // #{chunk} + #2)
            SYNC _chunk AtomicAdd chunk_expected
            SET store_value := tile.set_validshape(peer_final, #1, {valid})
            SET store_ret := tile.store(store_value, T(#0, col), target_2d)
        data = data
        RETURN data
    """


FP32_RECEIVED = """
                    SET recv_loaded := pld.tile.remote_load(target_2d, peer, T(#0, col), T(#1, #{0}), T(#1, min(#{0}, {1} - col)))
                    SET recv := tile.fillpad_inplace(recv_loaded){{pad_value=zero}}
"""
FP16_RECEIVED = """
                    SET recv_loaded := pld.tile.remote_load(target_2d, peer, T(#0, col), T(#1, #{0}), T(#1, (min(#{0}, {1} - col) + #15) // #16 * #16)){{allow_physical_tail_padding=True}}
                    SET recv_tail := tile.set_validshape(recv_loaded, #1, min(#{0}, {1} - col))
                    SET recv := tile.fillpad_inplace(recv_tail){{pad_value=zero}}
"""


@pytest.mark.parametrize("reduce", REDUCE)
@pytest.mark.parametrize(
    ("dtype", "shape", "size", "chunk"),
    [
        ("FP32", [1, 16], 16, 16),
        ("FP32", [3, 5, 7], 105, 112),
        ("FP32", [4097], 4097, 4096),
        ("FP16", [1, 17], 17, 32),
        ("FP16", [8193], 8193, 8192),
    ],
)
def test_mesh(reduce: str, dtype: str, shape: list[int], size: int, chunk: int) -> None:
    received = (FP32_RECEIVED if dtype == "FP32" else FP16_RECEIVED).format(chunk, f"#{size}")
    reset = f"SET allreduce_reset_total := i32(#1 + (#{size} + #{chunk - 1}) // #{chunk})\nRESET -allreduce_reset_total"
    both(allreduce(shape, [2, 1], getattr(pl, dtype), REDUCE[reduce]), mesh(f"#{size}", chunk, received, reduce), reset)


def test_mesh_of_symbolic_extents() -> None:
    """Products of extents fold: a factor of one vanishes, constants multiply."""
    n, m = pl.dynamic("n"), pl.dynamic("m")
    size = "#8 * n * m"
    text = mesh(size, 4096, FP32_RECEIVED.format(4096, size))
    reset = f"SET allreduce_reset_total := i32(#1 + ({size} + #4095) // #4096)\nRESET -allreduce_reset_total"
    both(allreduce([1, 2, 4, n, m], [2, 1]), text, reset)


@pytest.mark.parametrize("dtype", ["FP32", "FP16"])
@pytest.mark.parametrize("reduce", REDUCE)
def test_mesh_of_a_rectangle(dtype: str, reduce: str) -> None:
    text = f"""
        SETUP data
        SET target_2d := tensor.view(data, T(#24, #8), T(#6, #5))
        SYNC - AtomicAdd #1:i32
        SET acc_initial := tile.load(target_2d, T(#0, #0), T(#6, #5), T(#6, #5)){{target_memory=Vec}}
        FOLD peer in #0..nranks_idx by #1, peer_acc=acc_initial -> peer_final:
            PICK peer != idx(my_rank) -> if_res:
                SET recv := pld.tile.remote_load(target_2d, peer, T(#0, #0), T(#6, #5), T(#6, #5))
                SET acc_next := {reduce}(peer_acc, recv)
                YIELD acc_next
            ELSE
                YIELD peer_acc
            YIELD if_res
        SYNC 2 AtomicAdd #2:i32
        SET store_ret := tile.store(peer_final, T(#0, #0), target_2d)
        data = data
        RETURN data
    """
    program = partial([4, 6, 8], [1, 6, 5], [2, 1], "mesh", getattr(pl, dtype), REDUCE[reduce])
    both(program, text, "RESET #-2:i32")


def boundary(at: str, size: str, ranks: int, aligned: bool) -> str:
    """Where the segment ``at`` begins."""
    if not aligned:
        return f"{at} * {size} // #{ranks}"
    unit = f"#{ranks} * #16"
    return f"min(({at} * {size} + ({unit} - #1)) // ({unit}) * #16, {size})"


def phase(name: str, cols: str, result: str, taken: str, size: str, chunk: int, longest: int) -> str:
    """The inner loop of a phase: ``name`` is rs or ag, ``taken`` the statements of an active chunk."""
    row = "rs_step" if name == "rs" else "ag_round"
    ordinal = f"{name}_col // #{chunk} * #2 + #1"
    first = f"{name}_segment_begin + {name}_col"
    valid = f"min(#{chunk}, {cols} - {name}_col)"
    begin = f"{size} - max(#0, {size} - ({first}))"
    end = f"{size} - max(#0, {size} - ({begin} + {valid}))"
    placeholder = f"{result}_placeholder"
    return f"""
            EACH {name}_col in #0..#{longest} by #{chunk}:
                SET {name}_ready_epoch := i32({ordinal})
                SYNC _{name}_ready AtomicAdd {name}_ready_epoch {row}
                PICK {name}_col < {cols} -> if_res:
{taken}
                ELSE
                    SET {placeholder}_loaded := tile.load(target_2d, T(#0, #0), T(#1, #{chunk}), T(#1, max(#1, {valid}))){{target_memory=Vec}}
                    SET {placeholder} := tile.fillpad_inplace({placeholder}_loaded){{pad_value=zero}}
                    YIELD {placeholder}
                SET {name}_read_epoch := i32({ordinal} + #1)
                SYNC _{name}_read AtomicAdd {name}_read_epoch {row}
                GATE {name}_col < {cols}:
                    SET {result}_valid := tile.set_validshape(if_res, #1, {end} - ({begin}))
                    SET store_{name} := tile.store({result}_valid, T(#0, {begin}), target_2d)
"""


def ring_listing(view: str, size: str, ranks: int, chunk: int, longest: int, fp16: bool, reduce: str) -> str:
    def received(name: str, left: str, column: str) -> str:
        where = f"T(#0, {column}_segment_begin + {column}_col), T(#1, #{chunk})"
        least = f"max(#1, min(#{chunk}, {column}_segment_cols - {column}_col))"
        if not fp16:
            return f"""
                    SET {name}_loaded := pld.tile.remote_load(target_2d, {left}, {where}, T(#1, {least}))
                    SET {name} := tile.fillpad_inplace({name}_loaded){{pad_value=zero}}"""
        return f"""
                    SET {name}_loaded := pld.tile.remote_load(target_2d, {left}, {where}, T(#1, ({least} + #15) // #16 * #16)){{allow_physical_tail_padding=True}}
                    SET {name}_tail := tile.set_validshape({name}_loaded, #1, {least})
                    SET {name} := tile.fillpad_inplace({name}_tail){{pad_value=zero}}"""

    least = f"max(#1, min(#{chunk}, rs_segment_cols - rs_col))"
    reducing = f"""{received("recv_rs", "left", "rs")}
                    SET acc_rs_loaded := tile.load(target_2d, T(#0, rs_segment_begin + rs_col), T(#1, #{chunk}), T(#1, {least})){{target_memory=Vec}}
                    SET acc_rs := tile.fillpad_inplace(acc_rs_loaded){{pad_value=zero}}
                    SET acc_rs_next := {reduce}(acc_rs, recv_rs)
                    YIELD acc_rs_next"""
    copying = f"""{received("recv_ag", "ag_left", "ag")}
                    YIELD recv_ag"""
    return f"""
        SETUP data {ranks}
        SET my_rank_idx := idx(my_rank)
        SET target_2d := tensor.view(data, {view})
        SET nr_minus_one := nranks_idx - #1
        EACH rs_step in #0..nr_minus_one by #1:
            SET step := rs_step + #1
            SET recv_add_idx := (my_rank_idx - step - #1 + nranks_idx) mod nranks_idx
            SET left := (my_rank_idx - #1 + nranks_idx) mod nranks_idx
            SET rs_segment_begin := {boundary("recv_add_idx", size, ranks, fp16)}
            SET rs_segment_end := {boundary("(recv_add_idx + #1)", size, ranks, fp16)}
            SET rs_segment_cols := rs_segment_end - rs_segment_begin
            {phase("rs", "rs_segment_cols", "acc_rs", reducing, size, chunk, longest).strip()}
        EACH ag_step in #0..nr_minus_one by #1:
            SET ag_step_val := ag_step + #1
            SET ag_round := ag_step + nr_minus_one
            SET ag_segment_idx := (my_rank_idx - ag_step_val + nranks_idx) mod nranks_idx
            SET ag_left := (my_rank_idx - #1 + nranks_idx) mod nranks_idx
            SET ag_segment_begin := {boundary("ag_segment_idx", size, ranks, fp16)}
            SET ag_segment_end := {boundary("(ag_segment_idx + #1)", size, ranks, fp16)}
            SET ag_segment_cols := ag_segment_end - ag_segment_begin
            {phase("ag", "ag_segment_cols", "recv_ag", copying, size, chunk, longest).strip()}
        data = data
        RETURN data
    """


def ring_reset(rows: int, chunk: int, longest: int) -> str:
    return f"""\
SET ring_reset_total := i32(#2 * ((#{longest} + #{chunk - 1}) // #{chunk}))
EACH reset_row in #0..#{rows} by #1:
    RESET -ring_reset_total reset_row"""


@pytest.mark.parametrize("reduce", REDUCE)
@pytest.mark.parametrize(
    ("dtype", "size", "ranks", "longest", "chunk"),
    [
        ("FP32", 100, 4, 25, 32),
        ("FP32", 17, 2, 9, 16),
        ("FP32", 1, 4, 1, 8),
        ("FP32", 65537, 2, 32769, 4096),
        ("FP16", 100, 4, 40, 48),
        ("FP16", 17, 4, 17, 32),
        ("FP16", 65537, 4, 16400, 8192),
    ],
)
def test_ring(dtype: str, size: int, ranks: int, longest: int, chunk: int, reduce: str) -> None:
    program = ring(size, ranks, getattr(pl, dtype), REDUCE[reduce])
    text = ring_listing(f"T(#1, #{size})", f"#{size}", ranks, chunk, longest, dtype == "FP16", reduce)
    both(program, text, ring_reset(2 * (ranks - 1), chunk, longest))


@pytest.mark.parametrize("dtype", ["FP32", "FP16"])
@pytest.mark.parametrize(
    ("valid", "size"),
    [([1, 6, 8], 48), ([2, 6, 8], 96), ([1, 1, 5], 5)],
)
def test_ring_of_a_prefix(dtype: str, valid: list[int], size: int) -> None:
    program = partial([4, 6, 8], valid, [2, 2], "ring", getattr(pl, dtype))
    even = -(-size // 2)
    unit, longest = (8, even) if dtype == "FP32" else (16, min(size, even + 15))
    chunk = -(-longest // unit) * unit
    view = f"T(#1, #192), T(#1, #{size})"
    text = ring_listing(view, f"#{size}", 2, chunk, longest, dtype == "FP16", "tile.add")
    both(program, text, ring_reset(2, chunk, longest))


@pytest.mark.parametrize("dtype", ["FP32", "FP16"])
def test_ring_of_symbolic_size_and_ranks(dtype: str) -> None:
    """Segments follow the signal's columns, loops the ranks that there are."""
    n, rows, columns = pl.dynamic("n"), pl.dynamic("rows"), pl.dynamic("columns")
    made = listing(
        passes.lower_composite_ops(signals="credit")(allreduce([1, n], [rows, columns], getattr(pl, dtype), mode="ring"))
    )
    even = "(n + (columns - #1)) // columns"
    longest = even if dtype == "FP32" else f"min(n, {even} + #15)"
    full = 4096 if dtype == "FP32" else 8192
    lines = [line.strip() for line in made]
    assert f"EACH rs_col in #0..{longest} by #{full}:" in lines
    assert f"EACH ag_col in #0..{longest} by #{full}:" in lines
    assert "EACH rs_step in #0..nr_minus_one by #1:" in lines
    assert "EACH reset_row in #0..rows by #1:" in lines
    inner = f"({longest})" if dtype == "FP32" else longest
    assert f"SET ring_reset_total := i32(#2 * (({longest} + #{full - 1}) // #{full}))" in lines, inner
    boundary_ = {
        "FP32": "recv_add_idx * n // columns",
        "FP16": "min((recv_add_idx * n + (columns * #16 - #1)) // (columns * #16) * #16, n)",
    }[dtype]
    assert f"SET rs_segment_begin := {boundary_}" in lines


def test_several_calls_are_one_listing_after_the_other() -> None:
    """With credits every call asks for the same counts again."""

    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        data: pl.InOut[pld.DistributedTensor[[2, 24], pl.FP32]], signal: pl.InOut[pld.DistributedTensor[[2, 1], pl.INT32]]
    ):
        signal = pld.tensor.barrier(signal)
        pld.tensor.barrier(signal)
        data = pld.tensor.broadcast(data, signal, root=0)
        return data

    one = """
        SETUP signal
        SYNC - AtomicAdd #1:i32
        RESET #-1:i32
    """
    text = f"""
        {one.strip()}
        signal = signal
        {one.strip()}
        SETUP data
        SYNC - AtomicAdd #1:i32
        SET bcast_stage := tile.create(T(#2, #24)){{dtype=FP32, target_memory=Vec}}
        SET get_ret := pld.tile.get(data, #0:i32, data, bcast_stage)
        RESET #-1:i32
        data = data
        RETURN data
    """
    check(ir.Program([kernel], "P"), text, "credit")


def test_a_listing_shows_what_differs() -> None:
    """The comparison can fail: another operand, name, keyword or place of a statement is another line."""
    made = listing(passes.lower_composite_ops()(reduce_scatter(2)))
    for old, new in [("T(my_rank, #0)", "T(#0, #0)"), ("op=Set", "op=AtomicAdd"), ("acc_next", "next"), ("#2:i32", "#1:i32")]:
        assert any(old in line for line in made)
        assert [line.replace(old, new) for line in made] != made
