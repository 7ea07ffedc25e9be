"""Distributed programs that must be rejected: one error each, with its class, its very place, and words of its message and hint.

What is at fault stands between ``<<`` and ``>>``. Each case is read as text and through the decorators, where columns and lines are
those of the file.
"""

from __future__ import annotations

import runpy
import textwrap
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pypto.diagnostics import Error
from pypto.parser import errors, parse

IMPORTS = "import pypto.language as pl\nimport pypto.language.distributed as pld\n\n"
KERNEL = """N = pl.dynamic("N")


@pl.function(type=pl.FunctionType.InCore)
def kernel(
    x: pl.Tensor[[4, 16], pl.FP32],
    row: pl.Tensor[[1, 16], pl.FP32],
    d: pld.DistributedTensor[[4, 16], pl.FP32],
    e: pld.DistributedTensor[[4, 16], pl.FP32],
    s: pld.DistributedTensor[[4, 1], pl.INT32],
    h: pld.DistributedTensor[[1, 17], pl.FP16],
    c: pl.Tensor[[4], pl.INT32],
    rc: pld.DistributedTensor[[4, 1], pl.INT32],
    dyn: pld.DistributedTensor[[N, 16], pl.FP32],
    me: pl.Scalar[pl.INDEX],
    fl: pl.Scalar[pl.FP32],
    b: pl.Scalar[pl.BOOL],
    ctx: pld.CommCtx,
    t: pl.Tile[[1, 16], pl.FP32, pl.Mem.Vec],
    th: pl.Tile[[1, 16], pl.FP16, pl.Mem.Vec],
    st2: pl.Tile[[2, 8], pl.FP32, pl.Mem.Vec],
):
"""
HOST = """@pl.program
class P:
    @pl.function(type=pl.FunctionType.Orchestration)
    def chip(self, d: pld.DistributedTensor[[4, 8], pl.FP32]):
        return d

    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
    def host(self, k: pl.Scalar[pl.INDEX], b: pl.Scalar[pl.BOOL], x: pl.Tensor[[4, 16], pl.FP32]):
"""

IN_KERNELS = r"""
pld.system.notify(s, 1, [0, 0], 1, op=<<2>>)
    InvalidOperationError: takes 'op' as one of AtomicAdd 0, Set 1; got 2

pld.system.notify(s, 1, [0, 0], 1, op=<<-1>>)
    InvalidOperationError: takes 'op' as one of AtomicAdd 0, Set 1; got -1

pld.system.notify(s, 1, [0, 0], 1, op=<<True>>)
    InvalidOperationError: takes 'op' as one of NotifyOp.AtomicAdd, NotifyOp.Set; got True

pld.system.notify(s, 1, [0, 0], 1, op=<<None>>)
    InvalidOperationError: takes 'op' as one of NotifyOp.AtomicAdd, NotifyOp.Set; got None

pld.system.notify(s, 1, [0, 0], 1, op=<<"Set">>)
    InvalidOperationError: takes 'op' as one of NotifyOp.AtomicAdd, NotifyOp.Set; got 'Set' | write pld.NotifyOp.Set

pld.system.notify(s, 1, [0, 0], 1, op=<<pld.NotifyOp.Sett>>)
    ParserTypeError: NotifyOp has no member 'Sett' | did you mean 'Set'?

pld.system.notify(s, 1, [0, 0], 1, op=<<pld.NotifyOps.Set>>)
    ParserTypeError: there is no pld.NotifyOps.Set | did you mean pld.NotifyOp.Set?

pld.system.notify(s, 1, [0, 0], 1, op=<<pld.WaitCmp.Ge>>)
    InvalidOperationError: takes 'op' as one of NotifyOp.AtomicAdd, NotifyOp.Set; got WaitCmp.Ge

<<pld.system.notify(s, 1, [0, 0], 1)>>
    InvalidOperationError: needs 'op'

<<pld.system.notify(s, 1, [0, 0], 1, pld.NotifyOp.Set)>>
    InvalidOperationError: takes at most 4 positional arguments, got 5

<<pld.system.notify(s, 1, [0, 0], op=pld.NotifyOp.Set)>>
    InvalidOperationError: needs 'value'

<<pld.system.notify(s, 1, [0, 0], 1, 2, 3, op=pld.NotifyOp.Set)>>
    InvalidOperationError: takes at most 4 positional arguments, got 6

pld.system.notify(s, 1, <<[0]>>, 1, op=pld.NotifyOp.Set)
    InvalidOperationError: needs 2 offsets for INT32 distributed tensor [4, 1], got 1

pld.system.notify(s, 1, <<0>>, 1, op=pld.NotifyOp.Set)
    InvalidOperationError: takes a list of integers as 'offsets', got INDEX scalar

pld.system.notify(s, 1, <<[]>>, 1, op=pld.NotifyOp.Set)
    InvalidOperationError: needs 2 offsets for INT32 distributed tensor [4, 1], got 0

pld.system.notify(s, <<-1>>, [0, 0], 1, op=pld.NotifyOp.Set)
    InvalidOperationError: takes a rank from 0 as 'peer', got -1

pld.system.notify(s, <<True>>, [0, 0], 1, op=pld.NotifyOp.Set)
    InvalidOperationError: takes an integer as 'peer', got BOOL scalar

pld.system.notify(s, <<None>>, [0, 0], 1, op=pld.NotifyOp.Set)
    InvalidOperationError: takes an integer as 'peer', got TASK_ID scalar | None stands for a task that there is not, for nothing else

pld.system.notify(s, <<1.0>>, [0, 0], 1, op=pld.NotifyOp.Set)
    InvalidOperationError: takes an integer as 'peer', got FP32 scalar

pld.system.notify(s, <<s>>, [0, 0], 1, op=pld.NotifyOp.Set)
    InvalidOperationError: takes a Scalar as 'peer', got INT32 distributed tensor [4, 1]

pld.system.notify(s, <<b>>, [0, 0], 1, op=pld.NotifyOp.Set)
    InvalidOperationError: takes an integer as 'peer', got BOOL scalar

pld.system.notify(s, <<"1">>, [0, 0], 1, op=pld.NotifyOp.Set)
    ParserTypeError: the str '1' cannot be a value in a kernel

pld.system.notify(s, 1, <<[0.0, 0]>>, 1, op=pld.NotifyOp.Set)
    InvalidOperationError: takes integers in 'offsets', got FP32 scalar

pld.system.notify(s, 1, <<[True, 0]>>, 1, op=pld.NotifyOp.Set)
    InvalidOperationError: takes integers in 'offsets', got BOOL scalar

pld.system.notify(s, 1, <<[None, 0]>>, 1, op=pld.NotifyOp.Set)
    InvalidOperationError: takes integers in 'offsets', got TASK_ID scalar | None stands for a task that there is not, for nothing else

pld.system.notify(s, 1, <<None>>, 1, op=pld.NotifyOp.Set)
    InvalidOperationError: takes a list of integers as 'offsets', got None | None stands for a task that there is not, for nothing else

pld.system.notify(s, 1, [0, 0], <<1.5>>, op=pld.NotifyOp.Set)
    InvalidOperationError: takes an integer as 'value', got FP32 scalar

pld.system.notify(s, 1, [0, 0], <<True>>, op=pld.NotifyOp.Set)
    InvalidOperationError: takes an integer as 'value', got BOOL scalar

pld.system.notify(s, 1, [0, 0], <<None>>, op=pld.NotifyOp.Set)
    InvalidOperationError: takes an integer as 'value', got TASK_ID scalar | None stands for a task that there is not, for nothing else

pld.system.notify(s, 1, [0, 0], <<fl>>, op=pld.NotifyOp.Set)
    InvalidOperationError: takes an integer as 'value', got FP32 scalar

pld.system.notify(s, 1, [0, 0], <<2**40>>, op=pld.NotifyOp.Set)
    InvalidOperationError: takes 'value' as an INT32, got 1099511627776

pld.system.notify(<<c>>, 1, [0], 1, op=pld.NotifyOp.Set)
    InvalidOperationError: takes a DistributedTensor as 'target', got INT32 tensor [4]

pld.system.notify(<<t>>, 1, [0, 0], 1, op=pld.NotifyOp.Set)
    InvalidOperationError: takes a DistributedTensor as 'target', got FP32 tile [1, 16]

pld.system.notify(<<None>>, 1, [0, 0], 1, op=pld.NotifyOp.Set)
    InvalidOperationError: takes a DistributedTensor as 'target', got None | None stands for a task that there is not, for nothing else

pld.system.notify(s, 1, [0, 0], 1, op=pld.NotifyOp.Set, <<op=pld.NotifyOp.Set>>)
    PythonSyntaxError: this is not Python: op= is given twice

pld.system.notify(s, 1, [0, 0], 1, <<target=s>>, op=pld.NotifyOp.Set)
    InvalidOperationError: got 'target' twice

pld.system.notify(s, 1, [0, 0], 1, <<opp=pld.NotifyOp.Set>>)
    InvalidOperationError: has no parameter 'opp' | did you mean 'op'?

pld.system.notify(<<*s>>, op=1)
    UnsupportedFeatureError: a starred argument cannot be used in a kernel | write the arguments out

pld.system.notify(**<<s>>)
    UnsupportedFeatureError: ** arguments cannot be used in a kernel

<<pld.system.notify()>>
    InvalidOperationError: needs 'target'

y = <<pld.system.notify(s, 1, [0, 0], 1, op=pld.NotifyOp.Set) + 1>>
    ScalarOperandError: + cannot combine value of unknown type and INDEX scalar

<<pld.notify>>(s, 1, [0, 0], 1, op=pld.NotifyOp.Set)
    InvalidOperationError: unknown operation pld.notify | it exists as pld.system.notify

<<pld.tensor.notify>>(s, 1, [0, 0], 1, op=pld.NotifyOp.Set)
    InvalidOperationError: unknown operation pld.tensor.notify | it exists as pld.system.notify

<<pl.system.notify>>(s, 1, [0, 0], 1, op=pld.NotifyOp.Set)
    InvalidOperationError: unknown operation pl.system.notify | it exists as pld.system.notify

<<pl.notify>>(s, 1, [0, 0], 1, op=pld.NotifyOp.Set)
    InvalidOperationError: unknown operation pl.notify | it exists as pld.system.notify

<<pld.system.notifyy>>(s, 1, [0, 0], 1, op=pld.NotifyOp.Set)
    InvalidOperationError: unknown operation pld.system.notifyy | did you mean pld.system.notify?

<<pld.wait>>(s, [0, 0], 1, cmp=pld.WaitCmp.Ge)
    InvalidOperationError: unknown operation pld.wait | it exists as pld.system.wait

<<pld.put>>(d, 1, x)
    InvalidOperationError: unknown operation pld.put | it exists as pld.tensor.put

<<pld.get>>(d, 1, e)
    InvalidOperationError: unknown operation pld.get | it exists as pld.tensor.get

<<pld.allreduce>>(d, s)
    InvalidOperationError: unknown operation pld.allreduce | it exists as pld.tensor.allreduce

<<pld.barrier>>(s)
    InvalidOperationError: unknown operation pld.barrier | it exists as pld.tensor.barrier

<<pld.defer_wait>>(s, [0, 0], 1, cmp=pld.WaitCmp.Ge)
    InvalidOperationError: unknown operation pld.defer_wait | it exists as pld.system.defer_wait

pld.system.wait(s, [0, 0], 1, cmp=<<2>>)
    InvalidOperationError: takes 'cmp' as one of Eq 0, Ge 1; got 2

<<pld.system.wait(s, [0, 0], 1)>>
    InvalidOperationError: needs 'cmp'

pld.system.wait(s, <<[0]>>, 1, cmp=0)
    InvalidOperationError: needs 2 offsets for INT32 distributed tensor [4, 1], got 1

pld.system.wait(<<c>>, [0], 1, cmp=0)
    InvalidOperationError: takes a DistributedTensor as 'signal', got INT32 tensor [4]

pld.system.wait(s, [0, 0], <<fl>>, cmp=0)
    InvalidOperationError: takes an integer as 'expected', got FP32 scalar

pld.system.wait(s, [0, 0], <<2**31>>, cmp=0)
    InvalidOperationError: takes 'expected' as an INT32, got 2147483648

<<pld.system.wait(s, 1, [0, 0], 1, cmp=0)>>
    InvalidOperationError: takes at most 3 positional arguments, got 4

pld.system.defer_wait(s, [0, 0], 1, cmp=<<pld.WaitCmp.Eq>>)
    InvalidOperationError: takes 'cmp' as WaitCmp.Ge only

pld.system.defer_wait(s, [0, 0], <<-1>>, cmp=pld.WaitCmp.Ge)
    InvalidOperationError: takes 'expected' from 0 to 2**31 - 1, got -1

pld.system.defer_wait(s, [0, 0], <<2147483648>>, cmp=pld.WaitCmp.Ge)
    InvalidOperationError: takes 'expected' from 0 to 2**31 - 1, got 2147483648

pld.system.defer_wait(<<d>>, [0, 0], 1, cmp=pld.WaitCmp.Ge)
    InvalidOperationError: takes an INT32 distributed tensor as 'signal', got FP32 distributed tensor [4, 16]

pld.system.defer_wait(s, [0, 0], 1, cmp=<<7>>)
    InvalidOperationError: takes 'cmp' as one of Eq 0, Ge 1; got 7

a = pld.get_comm_ctx(<<x>>)
    InvalidOperationError: takes a DistributedTensor as 'dist_tensor', got FP32 tensor [4, 16]

a = pld.get_comm_ctx(<<t>>)
    InvalidOperationError: takes a DistributedTensor as 'dist_tensor', got FP32 tile [1, 16]

a = <<pld.get_comm_ctx()>>
    InvalidOperationError: needs 'dist_tensor'

a = <<pld.get_comm_ctx(d, d)>>
    InvalidOperationError: takes at most 1 positional argument, got 2

a = pld.get_comm_ctx(d, <<x=1>>)
    InvalidOperationError: has no parameter 'x'

a = pld.get_comm_ctx(<<tensor=d>>)
    InvalidOperationError: has no parameter 'tensor' | did you mean 'dist_tensor'?

a = pld.rank(<<d>>)
    InvalidOperationError: takes a CommCtx as 'ctx', got FP32 distributed tensor [4, 16]

a = <<pld.rank()>>
    InvalidOperationError: needs 'ctx'

a = pld.rank(<<1>>)
    InvalidOperationError: takes a CommCtx as 'ctx', got INDEX scalar

a = <<pld.nranks(ctx, 1)>>
    InvalidOperationError: takes at most 1 positional argument, got 2

a = pld.nranks(<<None>>)
    InvalidOperationError: takes a CommCtx as 'ctx', got None | None stands for a task that there is not, for nothing else

a = pld.system.rank(<<pld.system.nranks(ctx)>>)
    InvalidOperationError: takes a CommCtx as 'ctx', got INT32 scalar

a = <<pld.world_size()>>
    ParserSyntaxError: is for host orchestrators only | it belongs in a function decorated with level=pl.Level.HOST, role=pl.Role.Orchestrator

a = <<pld.system.world_size()>>
    ParserSyntaxError: is for host orchestrators only | it belongs in a function decorated with level=pl.Level.HOST, role=pl.Role.Orchestrator

a = <<pld.alloc_window_buffer(64)>>
    ParserSyntaxError: is for host orchestrators only | it belongs in a function decorated with level=pl.Level.HOST, role=pl.Role.Orchestrator

a = pld.window(<<d>>, [4], dtype=pl.FP32)
    InvalidOperationError: takes a Ptr as 'buf', got FP32 distributed tensor [4, 16]

a = <<ctx + 1>>
    ScalarOperandError: + cannot combine communication context and INDEX scalar

a = pl.add(<<ctx>>, ctx)
    InvalidOperationError: takes a Tensor, Tile or Scalar as 'lhs', got communication context

t2 = pld.remote_load(d, 0, <<[0]>>, [1, 16])
    InvalidOperationError: needs 2 offsets for FP32 distributed tensor [4, 16], got 1

t2 = pld.remote_load(d, 0, [0, 0], <<[16]>>)
    InvalidOperationError: needs 2 extents for FP32 distributed tensor [4, 16], got 1

t2 = pld.remote_load(d, 0, <<[4, 0]>>, [1, 16])
    InvalidOperationError: reaches [1, 16] at [4, 0], which lies outside FP32 distributed tensor [4, 16]

t2 = pld.remote_load(d, 0, <<[0, 1]>>, [1, 16])
    InvalidOperationError: reaches [1, 16] at [0, 1], which lies outside FP32 distributed tensor [4, 16]

t2 = pld.remote_load(d, 0, <<[0, 1]>>, [1, 16], [1, 16])
    InvalidOperationError: reaches [1, 16] at [0, 1], which lies outside FP32 distributed tensor [4, 16]

t2 = pld.remote_load(d, 0, [0, 0], [1, 16], <<[1, 17]>>)
    InvalidOperationError: got the valid shape [1, 17], which exceeds the shape [1, 16]

t2 = pld.remote_load(d, 0, [0, 0], [1, 16], <<[1, -1]>>)
    InvalidOperationError: takes no negative valid extent, got [1, -1]

t2 = pld.remote_load(d, 0, [0, 0], [1, 16], <<[16]>>)
    InvalidOperationError: needs 2 valid extents for the shape [1, 16], got 1

t2 = pld.remote_load(d, 0, [0, 0], [1, 16], <<[1, 1.5]>>)
    InvalidOperationError: takes integers in 'valid_shape', got FP32 scalar

t2 = pld.remote_load(d, 0, [0, 0], <<[0, 16]>>)
    InvalidOperationError: needs positive extents, got [0, 16]

t2 = pld.remote_load(d, 0, <<[-1, 0]>>, [1, 16])
    InvalidOperationError: takes no negative offset, got [-1, 0]

t2 = pld.remote_load(d, 0, [0, 0], [1, 16], <<allow_physical_tail_padding=True>>)
    InvalidOperationError: has no parameter 'allow_physical_tail_padding'

t2 = pld.tile._remote_load_with_physical_tail_padding(h, 0, <<[0, 0]>>, [1, 48], [1, 33])
    InvalidOperationError: reaches [1, 33] at [0, 0], which lies outside FP16 distributed tensor [1, 17]

t2 = pld.tile._remote_load_with_physical_tail_padding(<<h>>, 0, [0, 0], [1, 32])
    InvalidOperationError: reads the padding behind a window only of a 2-D FP16 tensor and with a valid shape, got FP16 distributed tensor [1, 17]

t2 = pld.tile._remote_load_with_physical_tail_padding(<<d>>, 0, [0, 0], [1, 16], [1, 16])
    InvalidOperationError: reads the padding behind a window only of a 2-D FP16 tensor and with a valid shape, got FP32 distributed tensor [4, 16]

t2 = <<pld._remote_load_with_physical_tail_padding>>(h, 0, [0, 0], [1, 32], [1, 32])
    InvalidOperationError: unknown operation pld._remote_load_with_physical_tail_padding | it exists as pld.tile._remote_load_with_physical_tail_padding

t2 = pld.remote_load(<<x>>, 0, [0, 0], [1, 16])
    InvalidOperationError: takes a DistributedTensor as 'target', got FP32 tensor [4, 16]

t2 = pld.remote_load(<<t>>, 0, [0, 0], [1, 16])
    InvalidOperationError: takes a DistributedTensor as 'target', got FP32 tile [1, 16]

t2 = pld.remote_load(d, 0, [0, 0], [1, 16], <<dtype=pl.FP32>>)
    InvalidOperationError: has no parameter 'dtype'

pld.remote_store(t, d, peer=1, offsets=[0, 0], atomic=<<3>>)
    InvalidOperationError: takes 'atomic' as one of None_ 0, Add 1; got 3

pld.remote_store(t, d, peer=1, offsets=[0, 0], atomic=<<True>>)
    InvalidOperationError: takes 'atomic' as one of AtomicType.None_, AtomicType.Add; got True

pld.remote_store(<<src_tile=t>>, target=d, peer=1, offsets=[0, 0])
    InvalidOperationError: has no parameter 'src_tile'

pld.tile.remote_store(<<x>>, d, 1, [0, 0])
    InvalidOperationError: takes a Tile as 'src_tile', got FP32 tensor [4, 16]

pld.tensor.remote_store(<<t>>, d, 1, [0, 0])
    InvalidOperationError: takes a Tensor as 'src', got FP32 tile [1, 16]

pld.tensor.remote_store(<<e>>, d, 1, [0, 0])
    InvalidOperationError: takes a plain tensor as 'src', got FP32 distributed tensor [4, 16] | use pld.tensor.put

pld.remote_store(<<e>>, d, 1, [0, 0])
    InvalidOperationError: takes a plain tensor as 'src', got FP32 distributed tensor [4, 16] | use pld.tensor.put

pld.remote_store(<<1>>, d, 1, [0, 0])
    InvalidOperationError: takes a Tensor or Tile as 'src', got INDEX scalar | use Python operators on scalars

pld.remote_store(<<me>>, d, 1, [0, 0])
    InvalidOperationError: takes a Tensor or Tile as 'src', got INDEX scalar | use Python operators on scalars

pld.remote_store(t, <<x>>, 1, [0, 0])
    InvalidOperationError: takes a DistributedTensor as 'target', got FP32 tensor [4, 16]

pld.remote_store(<<th>>, d, 1, [0, 0])
    InvalidOperationError: stores FP16 elements into a FP32 tensor | cast the source first: pl.cast(..., pl.FP32)

pld.remote_store(t, d, 1, <<[0]>>)
    InvalidOperationError: needs 2 offsets for FP32 distributed tensor [4, 16], got 1

pld.remote_store(t, d, 1, <<[4, 0]>>)
    InvalidOperationError: reaches [1, 16] at [4, 0], which lies outside FP32 distributed tensor [4, 16]

pld.remote_store(t, d, 1, <<[3, 1]>>)
    InvalidOperationError: reaches [1, 16] at [3, 1], which lies outside FP32 distributed tensor [4, 16]

pld.remote_store(t, d, <<-1>>, [3, 0])
    InvalidOperationError: takes a rank from 0 as 'peer', got -1

pld.remote_store(t, d, 1, <<[-3, 0]>>)
    InvalidOperationError: takes no negative offset, got [-3, 0]

<<pld.remote_store(t)>>
    InvalidOperationError: needs 'target'

<<pld.remote_store()>>
    InvalidOperationError: needs 'src'

<<pld.remote_store(t, d, 1, [0, 0], 1)>>
    InvalidOperationError: takes at most 4 positional arguments, got 5

pld.remote_store(<<tile=t>>, target=d, peer=1, offsets=[0, 0])
    InvalidOperationError: has no parameter 'tile'

pld.tensor.put(<<x>>, 1, x)
    InvalidOperationError: takes a DistributedTensor as 'dst', got FP32 tensor [4, 16]

pld.tensor.put(d, 1, <<t>>)
    InvalidOperationError: takes a Tensor as 'src', got FP32 tile [1, 16]

pld.tensor.put(d, 1, <<h>>)
    InvalidOperationError: moves elements of one type, got FP16 distributed tensor [1, 17] and FP32 distributed tensor [4, 16]

pld.tensor.put(d, 1, <<row>>)
    InvalidOperationError: without a region moves all of one shape, got FP32 tensor [1, 16] and FP32 distributed tensor [4, 16] | give dst_offsets, src_offsets and shape

pld.tensor.put(d, 1, x, [0, 0], <<[0, 0]>>)
    InvalidOperationError: takes dst_offsets, src_offsets and shape together

pld.tensor.put(d, 1, x, <<[0, 0]>>)
    InvalidOperationError: takes dst_offsets, src_offsets and shape together

<<pld.tensor.put(d, 1, x, dst_offsets=[0, 0], shape=[1, 16])>>
    InvalidOperationError: needs 'src_offsets' when 'shape' is given

<<pld.tensor.put(d, 1, x, shape=[1, 16])>>
    InvalidOperationError: needs 'dst_offsets' when 'shape' is given

<<pld.tensor.put(d, 1, x, src_offsets=[0, 0], shape=[1, 16])>>
    InvalidOperationError: needs 'dst_offsets' when 'src_offsets' is given

pld.tensor.put(d, 1, x, <<None>>, [0, 0], [1, 16])
    InvalidOperationError: needs 'dst_offsets' when 'src_offsets' is given

pld.tensor.put(d, 1, x, <<[0, 0]>>, [0, 0], [5, 16])
    InvalidOperationError: reaches [5, 16] at [0, 0], which lies outside FP32 distributed tensor [4, 16]

pld.tensor.put(d, 1, x, <<[3, 0]>>, [0, 0], [2, 16])
    InvalidOperationError: reaches [2, 16] at [3, 0], which lies outside FP32 distributed tensor [4, 16]

pld.tensor.put(d, 1, x, [0, 0], <<[3, 0]>>, [2, 16])
    InvalidOperationError: reaches [2, 16] at [3, 0], which lies outside FP32 tensor [4, 16]

pld.tensor.put(d, 1, x, <<[0]>>, [0, 0], [2, 16])
    InvalidOperationError: needs 2 offsets for FP32 distributed tensor [4, 16], got 1

pld.tensor.put(d, 1, x, [0, 0], [0, 0], <<[16]>>)
    InvalidOperationError: needs 2 extents for FP32 distributed tensor [4, 16], got 1

pld.tensor.put(d, 1, x, [0, 0], [0, 0], <<[0, 16]>>)
    InvalidOperationError: needs positive extents, got [0, 16]

pld.tensor.put(d, 1, x, <<[0, -1]>>, [0, 0], [1, 16])
    InvalidOperationError: takes no negative offset, got [0, -1]

<<pld.tensor.put(d, 1, x, [0, 0], [0, 0], [me, 16])>>
    InvalidOperationError: moves [me, 16], which is known only at run time | state the piece that moves at once: chunk_rows=, chunk_cols=

<<pld.tensor.put(dyn, 1, dyn)>>
    InvalidOperationError: moves [N, 16], which is known only at run time | state the piece that moves at once: chunk_rows=, chunk_cols=

pld.tensor.put(dyn, 1, <<x>>, chunk_rows=4)
    InvalidOperationError: without a region moves all of one shape, got FP32 tensor [4, 16] and FP32 distributed tensor [N, 16] | give dst_offsets, src_offsets and shape

pld.tensor.put(d, 1, x, chunk_rows=<<-1>>)
    InvalidOperationError: takes 'chunk_rows' from 0, got -1

pld.tensor.put(d, 1, x, chunk_rows=<<2.0>>)
    InvalidOperationError: takes an int as 'chunk_rows', got 2.0

pld.tensor.put(d, 1, x, chunk_rows=<<True>>)
    InvalidOperationError: takes an int as 'chunk_rows', got True

pld.tensor.put(d, 1, x, chunk_rows=<<me>>)
    InvalidOperationError: 'chunk_rows' must be known while reading, got a value of the kernel | write a literal, or a name defined outside the function

pld.tensor.put(d, 1, x, pipeline=<<True>>)
    InvalidOperationError: pipelines only with 'chunk_rows' and 'chunk_cols'

pld.tensor.put(d, 1, x, pipeline=<<True>>, chunk_rows=2)
    InvalidOperationError: pipelines only with 'chunk_rows' and 'chunk_cols'

pld.tensor.put(d, 1, x, pipeline=<<1>>, chunk_rows=2, chunk_cols=8)
    InvalidOperationError: takes a bool as 'pipeline', got 1

pld.tensor.put(d, 1, x, atomic=<<None>>)
    InvalidOperationError: takes 'atomic' as one of AtomicType.None_, AtomicType.Add; got None

pld.tensor.put(d, 1, x, atomic=<<pld.ReduceOp.Sum>>)
    InvalidOperationError: takes 'atomic' as one of AtomicType.None_, AtomicType.Add; got ReduceOp.Sum

<<pld.tensor.put(d, 1, x, [0,0], [0,0], [1,16], pld.AtomicType.Add)>>
    InvalidOperationError: takes at most 6 positional arguments, got 7

<<pld.tensor.put(dst=d, src=x)>>
    InvalidOperationError: needs 'peer'

pld.tensor.get(d, 1, <<x>>)
    InvalidOperationError: takes a DistributedTensor as 'src', got FP32 tensor [4, 16]

pld.tensor.get(<<t>>, 1, d)
    InvalidOperationError: takes a Tensor as 'dst', got FP32 tile [1, 16]

pld.tensor.get(x, 1, d, <<atomic=pld.AtomicType.Add>>)
    InvalidOperationError: has no parameter 'atomic'

pld.tensor.get(x, 1, d, [0,0], <<[0,0]>>)
    InvalidOperationError: takes dst_offsets, src_offsets and shape together

<<pld.tile.put(d, 1, x)>>
    InvalidOperationError: needs 'stage'

pld.tile.put(d, 1, x, t, <<st2>>)
    InvalidOperationError: takes two stages of one shape, got FP32 tile [1, 16] and FP32 tile [2, 8]

<<pld.tile.put(d, 1, x, t, [0, 0], [0, 0], [1, 16], t, t)>>
    InvalidOperationError: takes at most 8 positional arguments, got 9

pld.tile.put(d, 1, x, t, [0, 0], [0, 0], [1, 16], <<shape=[1, 16]>>)
    InvalidOperationError: got 'shape' twice

<<pld.tile.put(d, 1, x, t, [0, 0], [0, 0])>>
    InvalidOperationError: needs 'shape' when 'dst_offsets' is given

<<pld.tile.put(d, 1, x, t, [0, 0])>>
    InvalidOperationError: needs 'src_offsets' when 'dst_offsets' is given

<<pld.tile.put(d, 1, x, t, t, [0, 0])>>
    InvalidOperationError: needs 'src_offsets' when 'stage2' is given

<<pld.tile.put(d, 1, x, t, t, [0, 0], [0, 0])>>
    InvalidOperationError: needs 'shape' when 'stage2' is given

<<pld.tile.put(d, 1, x, t, shape=[1, 16])>>
    InvalidOperationError: needs 'dst_offsets' when 'shape' is given

<<pld.tile.put(d, 1, x, t, stage2=t, shape=[1, 16])>>
    InvalidOperationError: needs 'dst_offsets' when 'stage2' is given

pld.tile.put(d, 1, x, <<th>>)
    InvalidOperationError: takes a 2-D FP32 tile in Vec as 'stage', got FP16 tile [1, 16]

pld.tile.put(d, 1, x, <<x>>)
    InvalidOperationError: takes a Tile as 'stage', got FP32 tensor [4, 16]

pld.tile.put(d, 1, x, t, <<x>>)
    InvalidOperationError: takes a Tile as 'stage2', got FP32 tensor [4, 16]

pld.tile.put(d, 1, x, <<t>>, [0, 0], [0, 0], [1, 8])
    InvalidOperationError: takes a stage no larger than what is moved, [1, 8]; got FP32 tile [1, 16]

pld.tile.put(d, 1, x, t, [0, 0], <<[0, 4]>>, [1, 16])
    InvalidOperationError: reaches [1, 16] at [0, 4], which lies outside FP32 tensor [4, 16]

pld.tile.put(d, 1, x, t, <<[0, 4]>>, [0, 0], [1, 16])
    InvalidOperationError: reaches [1, 16] at [0, 4], which lies outside FP32 distributed tensor [4, 16]

pld.tile.put(d, 1, x, t, [0, 0], [0, 0], [1, 16], <<th>>)
    InvalidOperationError: takes a 2-D FP32 tile in Vec as 'stage2', got FP16 tile [1, 16]

pld.tile.put(d, 1, x, t, [0, 0], [0, 0], [1, 16], <<st2>>)
    InvalidOperationError: takes a stage no larger than what is moved, [1, 16]; got FP32 tile [2, 8]

pld.tile.put(<<x>>, 1, x, t)
    InvalidOperationError: takes a DistributedTensor as 'dst', got FP32 tensor [4, 16]

pld.tile.put(d, 1, x, t, <<pipeline=True>>)
    InvalidOperationError: has no parameter 'pipeline'

pld.tile.get(x, 1, <<x>>, t)
    InvalidOperationError: takes a DistributedTensor as 'src', got FP32 tensor [4, 16]

pld.tile.get(<<t>>, 1, d, t)
    InvalidOperationError: takes a Tensor as 'dst', got FP32 tile [1, 16]

pld.tile.get(x, 1, d, t, <<atomic=1>>)
    InvalidOperationError: has no parameter 'atomic'

<<pld.tile.get(x, 1, d, t, t, t)>>
    InvalidOperationError: needs 'src_offsets' when 'stage2' is given

<<pld.tile.get(x, 1, d, t, t, [0, 0], [0, 0], [1, 16], t)>>
    InvalidOperationError: takes at most 8 positional arguments, got 9

pld.tile.get(x, 1, d, t, t, [0, 0], [0, 0], [1, 16], <<stage=t>>)
    InvalidOperationError: got 'stage' twice

d = pld.tensor.allreduce(d, <<None>>)
    InvalidOperationError: takes a DistributedTensor as 'signal', not None | leave 'signal' out

d = pld.tensor.allreduce(d, signal=<<None>>)
    InvalidOperationError: takes a DistributedTensor as 'signal', not None | leave 'signal' out

d = pld.tensor.allreduce(d, s, op=<<4>>)
    InvalidOperationError: takes 'op' as one of Sum 0, Max 1, Min 2, Prod 3; got 4

d = pld.tensor.allreduce(d, s, op=<<True>>)
    InvalidOperationError: takes 'op' as one of ReduceOp.Sum, ReduceOp.Max, ReduceOp.Min, ReduceOp.Prod; got True

d = pld.tensor.allreduce(d, s, op=<<"Sum">>)
    InvalidOperationError: takes 'op' as one of ReduceOp.Sum, ReduceOp.Max, ReduceOp.Min, ReduceOp.Prod; got 'Sum' | write pld.ReduceOp.Sum

d = pld.tensor.allreduce(d, s, op=<<pld.ReduceOp.Sun>>)
    ParserTypeError: ReduceOp has no member 'Sun' | did you mean 'Sum'?

d = <<pld.tensor.allreduce(d, s, pld.ReduceOp.Sum)>>
    InvalidOperationError: takes at most 2 positional arguments, got 3

d = pld.tensor.allreduce(d, s, mode=<<1>>)
    InvalidOperationError: takes a str as 'mode', got 1

d = pld.tensor.allreduce(d, mode=<<"ring">>)
    InvalidOperationError: without a signal runs as a mesh only, got mode='ring' | give it a signal

d = pld.tensor.allreduce(d, s, core_num=<<0>>)
    InvalidOperationError: takes a positive 'core_num', got 0

d = pld.tensor.allreduce(d, s, core_num=<<-1>>)
    InvalidOperationError: takes a positive 'core_num', got -1

d = pld.tensor.allreduce(d, s, core_num=<<True>>)
    InvalidOperationError: takes an int as 'core_num', got True

d = pld.tensor.allreduce(d, s, core_num=<<2.0>>)
    InvalidOperationError: takes an int as 'core_num', got 2.0

d = pld.tensor.allreduce(d, s, core_num=<<me>>)
    InvalidOperationError: 'core_num' must be known while reading, got a value of the kernel | write a literal, or a name defined outside the function

d = pld.tensor.allreduce(d, s, core_num=<<"2">>)
    InvalidOperationError: takes an int as 'core_num', got '2'

d = pld.tensor.allreduce(d, s, core_num=<<None>>)
    InvalidOperationError: takes an int as 'core_num', got None

d = pld.tensor.allreduce(<<x>>, s)
    InvalidOperationError: takes a DistributedTensor as 'target', got FP32 tensor [4, 16]

d = pld.tensor.allreduce(<<t>>, s)
    InvalidOperationError: takes a DistributedTensor as 'target', got FP32 tile [1, 16]

d = pld.tensor.allreduce(<<s>>, s)
    InvalidOperationError: takes FP16 or FP32 as 'target', got INT32 distributed tensor [4, 1]

d = pld.tensor.allreduce(d, <<d>>)
    InvalidOperationError: takes an INT32 distributed tensor as 'signal', got FP32 distributed tensor [4, 16]

d = pld.tensor.allreduce(d, <<c>>)
    InvalidOperationError: takes a DistributedTensor as 'signal', got INT32 tensor [4]

<<d>> = pld.tensor.allreduce(h, s)
    ParserTypeError: 'd' holds FP32 distributed tensor [4, 16] and cannot be assigned FP16 distributed tensor [1, 17] | use another name, or convert the value first

h = pld.tensor.allreduce(h, <<h>>)
    InvalidOperationError: takes an INT32 distributed tensor as 'signal', got FP16 distributed tensor [1, 17]

<<x>> = pld.tensor.allreduce(d, s)
    ParserTypeError: 'x' holds FP32 tensor [4, 16] and cannot be assigned FP32 distributed tensor [4, 16] | use another name, or convert the value first

d = <<pld.tensor.allreduce(d, s, s)>>
    InvalidOperationError: takes at most 2 positional arguments, got 3

d = <<pld.tensor.allreduce()>>
    InvalidOperationError: needs 'target'

d = pld.tensor.allreduce(d, s, <<root=1>>)
    InvalidOperationError: has no parameter 'root'

pld.tensor.barrier(<<d>>)
    InvalidOperationError: takes an INT32 distributed tensor as 'signal', got FP32 distributed tensor [4, 16]

pld.tensor.barrier(<<c>>)
    InvalidOperationError: takes a DistributedTensor as 'signal', got INT32 tensor [4]

<<pld.tensor.barrier()>>
    InvalidOperationError: needs 'signal'

<<pld.tensor.barrier(s, s)>>
    InvalidOperationError: takes at most 1 positional argument, got 2

d = <<pld.tensor.broadcast(d, s)>>
    InvalidOperationError: needs 'root'

d = <<pld.tensor.broadcast(d, s, 0)>>
    InvalidOperationError: takes at most 2 positional arguments, got 3

d = pld.tensor.broadcast(d, s, root=<<-1>>)
    InvalidOperationError: takes 'root' from 0, got -1

d = pld.tensor.broadcast(d, s, root=<<True>>)
    InvalidOperationError: takes an int as 'root', got True

d = pld.tensor.broadcast(d, s, root=<<1.0>>)
    InvalidOperationError: takes an int as 'root', got 1.0

d = pld.tensor.broadcast(d, s, root=<<me>>)
    InvalidOperationError: 'root' must be known while reading, got a value of the kernel | write a literal, or a name defined outside the function

d = pld.tensor.broadcast(d, s, root=<<None>>)
    InvalidOperationError: takes an int as 'root', got None

d = pld.tensor.broadcast(<<x>>, s, root=0)
    InvalidOperationError: takes a DistributedTensor as 'target', got FP32 tensor [4, 16]

d = <<pld.tensor.broadcast(d, root=0)>>
    InvalidOperationError: needs 'signal'

d = pld.tensor.broadcast(d, <<d>>, root=0)
    InvalidOperationError: takes an INT32 distributed tensor as 'signal', got FP32 distributed tensor [4, 16]

<<d>> = pld.tensor.broadcast(rc, s, root=0)
    ParserTypeError: 'd' holds FP32 distributed tensor [4, 16] and cannot be assigned INT32 distributed tensor [4, 1] | use another name, or convert the value first

d = pld.tensor.reduce_scatter(d, s, op=<<pld.ReduceOp.Max>>)
    InvalidOperationError: takes 'op' as one of ReduceOp.Sum; got ReduceOp.Max

d = pld.tensor.reduce_scatter(d, s, op=<<9>>)
    InvalidOperationError: takes 'op' as one of Sum 0, Max 1, Min 2, Prod 3; got 9

d = pld.tensor.reduce_scatter(<<x>>, s)
    InvalidOperationError: takes a DistributedTensor as 'target', got FP32 tensor [4, 16]

d = pld.tensor.reduce_scatter(d, <<x>>)
    InvalidOperationError: takes a DistributedTensor as 'signal', got FP32 tensor [4, 16]

d = pld.tensor.allgather(<<local_chunk=row>>, target=d, signal=s)
    InvalidOperationError: has no parameter 'local_chunk'

d = pld.tensor.allgather(<<x>>, d, s)
    InvalidOperationError: takes one row as 'local_data', got FP32 tensor [4, 16]

d = pld.tensor.allgather(d, <<d>>, s)
    InvalidOperationError: needs 'local_data' and 'target' to be different tensors, got one for both | what is pushed from must not be what is pushed into

d = pld.tensor.allgather(<<e>>, d, s)
    InvalidOperationError: takes one row as 'local_data', got FP32 distributed tensor [4, 16]

d = pld.tensor.allgather(<<th>>, d, s)
    InvalidOperationError: gathers rows of the target's width and type, got FP16 tile [1, 16] for FP32 distributed tensor [4, 16]

d = pld.tensor.allgather(<<h>>, d, s)
    InvalidOperationError: gathers rows of the target's width and type, got FP16 distributed tensor [1, 17] for FP32 distributed tensor [4, 16]

d = pld.tensor.allgather(row, <<x>>, s)
    InvalidOperationError: takes a DistributedTensor as 'target', got FP32 tensor [4, 16]

d = pld.tensor.allgather(row, d, <<d>>)
    InvalidOperationError: takes an INT32 distributed tensor as 'signal', got FP32 distributed tensor [4, 16]

d = pld.tensor.allgather(row, d, <<e>>)
    InvalidOperationError: takes an INT32 distributed tensor as 'signal', got FP32 distributed tensor [4, 16]

d = <<pld.tensor.allgather(row, d)>>
    InvalidOperationError: needs 'signal'

d = pld.tensor.allgather(<<me>>, d, s)
    InvalidOperationError: takes a Tensor or Tile as 'local_data', got INDEX scalar

d = pld.tensor.all_to_all(d, <<d>>, s)
    InvalidOperationError: needs 'input' and 'target' to be different tensors, got one for both | what is pushed from must not be what is pushed into

d = pld.tensor.all_to_all(<<row>>, d, s)
    InvalidOperationError: needs 'input' and 'target' of one shape and type, got FP32 tensor [1, 16] and FP32 distributed tensor [4, 16]

d = pld.tensor.all_to_all(<<t>>, d, s)
    InvalidOperationError: takes a Tensor as 'input', got FP32 tile [1, 16]

d = pld.tensor.all_to_all(x, <<x>>, s)
    InvalidOperationError: takes a DistributedTensor as 'target', got FP32 tensor [4, 16]

d = pld.tensor.all_to_all(x, d, <<c>>)
    InvalidOperationError: takes a DistributedTensor as 'signal', got INT32 tensor [4]

d = <<pld.tensor.all_to_all_v(x, d, s, c)>>
    InvalidOperationError: needs 'recv_counts'

d = pld.tensor.all_to_all_v(x, d, s, rc, <<rc>>)
    InvalidOperationError: needs 'send_counts' and 'recv_counts' to be different tensors, got one for both | what is pushed from must not be what is pushed into

d = pld.tensor.all_to_all_v(x, d, s, <<s>>, rc)
    InvalidOperationError: needs 'signal' and 'send_counts' to be different tensors, got one for both | a signal counts posts, it holds no data

d = pld.tensor.all_to_all_v(x, d, s, c, <<s>>)
    InvalidOperationError: needs 'signal' and 'recv_counts' to be different tensors, got one for both | a signal counts posts, it holds no data

d = pld.tensor.all_to_all_v(d, <<d>>, s, c, rc)
    InvalidOperationError: needs 'input' and 'target' to be different tensors, got one for both | what is pushed from must not be what is pushed into

d = pld.tensor.all_to_all_v(x, d, s, c, <<c>>)
    InvalidOperationError: takes a DistributedTensor as 'recv_counts', got INT32 tensor [4]

d = pld.tensor.all_to_all_v(x, d, s, <<x>>, rc)
    InvalidOperationError: takes INT32 as 'send_counts', got FP32 tensor [4, 16]

d = pld.tensor.all_to_all_v(x, d, s, <<t>>, rc)
    InvalidOperationError: takes a Tensor as 'send_counts', got FP32 tile [1, 16]

d = pld.tensor.all_to_all_v(dyn, <<dyn>>, s, c, rc)
    InvalidOperationError: needs 'input' and 'target' to be different tensors, got one for both | what is pushed from must not be what is pushed into

d[0:1, :] = <<pld.tensor.allreduce(d, s)>>
    ParserTypeError: axis 0 of the part holds 1 elements, the value 4

<<pld.system.notify(s, 1, [0, 0], 1, op=1) if b else 0>>
    UnsupportedFeatureError: an expression alone has no effect | assign it to a name, or call an operator

y: pl.Scalar[pl.INDEX] = <<pld.system.wait(s, [0, 0], 1, cmp=1)>>
    ParserTypeError: pld.system.wait gives no value | write it on a line of its own

y: pl.Tensor[[4, 16], pl.FP32] = <<pld.tensor.put(d, 1, x)>>
    ParserTypeError: pld.tensor.put gives no value | write it on a line of its own

if <<pld.system.wait(s, [0, 0], 1, cmp=1)>>:
    pass
    ParserTypeError: the condition of an if is a BOOL scalar, got value of unknown type

<<pld.system>>
    UnsupportedFeatureError: an expression alone has no effect | assign it to a name, or call an operator

<<pld.system.notify>>
    UnsupportedFeatureError: an expression alone has no effect | assign it to a name, or call an operator

y = <<pld.system.notify>>
    UnsupportedFeatureError: the attribute pld.system.notify does not exist in a kernel

y = <<pld.NotifyOp.Set>>
    ParserTypeError: pld.NotifyOp.Set is a compile-time value and cannot stand here

<<pld.tensor>>()
    InvalidOperationError: unknown operation pld.tensor

<<pld.tensor.allreduce.ring>>(d, s)
    InvalidOperationError: unknown operation pld.tensor.allreduce.ring | there are no operators under pld.tensor.allreduce

<<pld.DistributedTensor>>(d)
    InvalidOperationError: unknown operation pld.DistributedTensor

<<pld.CommCtx>>()
    InvalidOperationError: unknown operation pld.CommCtx

pld.system.notify(s, 1, <<[i for i in range(2)]>>, 1, op=1)
    UnsupportedFeatureError: a comprehension cannot be used in a kernel | write the elements out, or use a loop

pld.system.notify(s, 1, [0, 0], <<lambda: 1>>, op=1)
    UnsupportedFeatureError: a lambda cannot be used in a kernel

pld.system.notify(s, <<d[0, 0]>>, [0, 0], 1, op=1)
    InvalidOperationError: takes an integer as 'peer', got FP32 scalar

pld.system.notify(s, 1, <<[0, 0, 0]>>, 1, op=1)
    InvalidOperationError: needs 2 offsets for INT32 distributed tensor [4, 1], got 3

pld.tile.put(d, 1, x, t, dst_offsets=[0, 0], src_offsets=<<[9, 0]>>, shape=[1, 16])
    InvalidOperationError: reaches [1, 16] at [9, 0], which lies outside FP32 tensor [4, 16]

pld.tile.put(d, 1, x, t, t, dst_offsets=<<[9, 0]>>, src_offsets=[0, 0], shape=[1, 16])
    InvalidOperationError: reaches [1, 16] at [9, 0], which lies outside FP32 distributed tensor [4, 16]

pld.tile.put(d, 1, x, t, shape=[1, 16], src_offsets=[0, 0], dst_offsets=[0, 0], stage2=<<th>>)
    InvalidOperationError: takes a 2-D FP32 tile in Vec as 'stage2', got FP16 tile [1, 16]

pld.tile.put(d, 1, x, t, t, [0, 0], [0, 0], <<[1, 0]>>)
    InvalidOperationError: needs positive extents, got [1, 0]

pld.tile.put(d, 1, x, stage=t, atomic=0, <<atomic=1>>)
    PythonSyntaxError: this is not Python: atomic= is given twice

pld.tile.get(x, 1, d, t, shape=[5, 16], src_offsets=[0, 0], dst_offsets=<<[0, 0]>>)
    InvalidOperationError: reaches [5, 16] at [0, 0], which lies outside FP32 tensor [4, 16]

pld.tensor.put(d, 1, x, atomic=0, chunk_rows=1, <<chunk_rows=2>>)
    PythonSyntaxError: this is not Python: chunk_rows= is given twice

pld.tensor.put(d, 1, x, <<[0, 0]>>, [0, 0], [9223372036854775807, 16])
    InvalidOperationError: reaches [9223372036854775807, 16] at [0, 0], which lies outside FP32 distributed tensor [4, 16]

t2 = pld.remote_load(d, 0, <<[0, 0]>>, [4294967296, 4294967296])
    InvalidOperationError: reaches [4294967296, 4294967296] at [0, 0], which lies outside FP32 distributed tensor [4, 16]

pld.system.notify(s, <<99999999999999999999>>, [0, 0], 1, op=1)
    ParserTypeError: the integer 99999999999999999999 does not fit 64 bits

d = pld.tensor.allreduce(d, s, attrs=<<[1]>>)
    ParserSyntaxError: attrs must be a dict literal | write attrs as {"key": value}

d = pld.tensor.allreduce(d, s, attrs={"a": 1, <<"a">>: 2})
    ParserSyntaxError: attrs has the key 'a' twice

d = pld.tensor.allgather(row, d, signal=<<None>>)
    InvalidOperationError: takes a DistributedTensor as 'signal', got None | None stands for a task that there is not, for nothing else

d = pld.tensor.broadcast(rc, <<rc>>, root=0)
    InvalidOperationError: needs 'target' and 'signal' to be different tensors, got one for both | a signal counts posts, it holds no data

pld.tensor.put(d, 1, <<None>>)
    InvalidOperationError: takes a Tensor as 'src', got None | None stands for a task that there is not, for nothing else

pld.tile.put(d, 1, x, <<None>>)
    InvalidOperationError: needs 'stage'

a = pld.window(<<ctx>>, [4], dtype=pl.FP32)
    InvalidOperationError: takes a Ptr as 'buf', got communication context

x = <<pld.tensor.get(x, 1, d) + 1>>
    ScalarOperandError: + cannot combine value of unknown type and INDEX scalar
"""

IN_HOSTS = r"""
a: pl.Tensor[[4], pl.FP32] = <<pld.alloc_window_buffer(64)>>
    ParserTypeError: the annotation says FP32 tensor [4], the value is pointer

a: pl.Scalar[pl.INDEX] = <<pld.alloc_window_buffer(64)>>
    ParserTypeError: the annotation says INDEX scalar, the value is pointer

a = pld.alloc_window_buffer(<<[4, 8]>>)
    ParserSyntaxError: needs 'dtype' with a shape | dtype=pl.FP32

a = pld.alloc_window_buffer(64, dtype=<<pl.FP32>>)
    ParserSyntaxError: takes 'dtype' with a shape only | [...], dtype=pl.FP32; or bytes without dtype

a = pld.alloc_window_buffer(<<[]>>, dtype=pl.FP32)
    ParserSyntaxError: takes no empty shape

a = pld.alloc_window_buffer(<<[0]>>, dtype=pl.FP32)
    ParserSyntaxError: takes positive extents, got 0

a = pld.alloc_window_buffer(<<[4, -1]>>, dtype=pl.FP32)
    ParserSyntaxError: takes positive extents, got -1

a = pld.alloc_window_buffer(<<[4, 1.5]>>, dtype=pl.FP32)
    ParserSyntaxError: takes integers as extents, got FP32 scalar

a = pld.alloc_window_buffer(<<[4, True]>>, dtype=pl.FP32)
    ParserSyntaxError: takes integers as extents, got BOOL scalar

a = pld.alloc_window_buffer(<<[4, None]>>, dtype=pl.FP32)
    ParserSyntaxError: takes integers as extents, got TASK_ID scalar

a = pld.alloc_window_buffer(<<[[4], 4]>>, dtype=pl.FP32)
    ParserSyntaxError: takes integers as extents, got tuple of 1

a = <<pld.alloc_window_buffer([4], pl.FP32)>>
    ParserSyntaxError: takes one size, got 2 | pld.alloc_window_buffer(bytes) or pld.alloc_window_buffer([2, 128], dtype=pl.FP32)

a = pld.alloc_window_buffer([4], dtype=<<"FP32">>)
    ParserTypeError: dtype= is an element type | dtype=pl.FP32

a = pld.alloc_window_buffer([4], dtype=<<pl.FP33>>)
    ParserTypeError: there is no pl.FP33 | did you mean pl.FP32?

a = pld.alloc_window_buffer([4], dtype=<<None>>)
    ParserTypeError: dtype= is an element type | dtype=pl.FP32

a = pld.alloc_window_buffer(<<0>>)
    ParserSyntaxError: takes a positive number of bytes, got 0

a = pld.alloc_window_buffer(<<-8>>)
    ParserSyntaxError: takes a positive number of bytes, got -8

a = pld.alloc_window_buffer(<<1.5>>)
    ParserSyntaxError: takes an integer as 'size', got FP32 scalar

a = pld.alloc_window_buffer(<<True>>)
    ParserSyntaxError: takes an integer as 'size', got BOOL scalar

a = pld.alloc_window_buffer(<<None>>)
    ParserSyntaxError: takes an integer as 'size', got TASK_ID scalar

a = pld.alloc_window_buffer(<<"x">>)
    ParserTypeError: the str 'x' cannot be a value in a kernel

a = pld.alloc_window_buffer(<<x>>)
    ParserSyntaxError: takes a Scalar as 'size', got FP32 tensor [4, 16]

a = <<pld.alloc_window_buffer()>>
    ParserSyntaxError: takes one size, got 0 | pld.alloc_window_buffer(bytes) or pld.alloc_window_buffer([2, 128], dtype=pl.FP32)

a = <<pld.alloc_window_buffer(1, 2)>>
    ParserSyntaxError: takes one size, got 2 | pld.alloc_window_buffer(bytes) or pld.alloc_window_buffer([2, 128], dtype=pl.FP32)

a = pld.alloc_window_buffer(64, <<name="a">>)
    ParserSyntaxError: a window buffer is named after the variable it is assigned to | leave name= out

a = pld.alloc_window_buffer(64, <<name="b">>)
    ParserSyntaxError: a window buffer is named after the variable it is assigned to | leave name= out

a = pld.alloc_window_buffer(64, <<foo=1>>)
    ParserSyntaxError: takes no foo= | it takes a size, and dtype

a = pld.alloc_window_buffer(64, <<size=64>>)
    ParserSyntaxError: got size twice

a = pld.alloc_window_buffer(<<*x>>)
    UnsupportedFeatureError: a starred argument cannot be used in a kernel | write the arguments out

a = pld.alloc_window_buffer(**<<x>>)
    UnsupportedFeatureError: ** arguments cannot be used in a kernel

<<pld.alloc_window_buffer(64)>>
    ParserSyntaxError: must be assigned to a name, which names the buffer | buf = pld.alloc_window_buffer(...)

a, c = <<pld.alloc_window_buffer(64)>>
    ParserSyntaxError: must be assigned to a name, which names the buffer | buf = pld.alloc_window_buffer(...)

a = pld.window(<<pld.alloc_window_buffer(64)>>, [4], dtype=pl.FP32)
    ParserSyntaxError: must be assigned to a name, which names the buffer | buf = pld.alloc_window_buffer(...)

a = <<b>> = pld.alloc_window_buffer(64)
    ParserSyntaxError: one assignment has one target | write one assignment for each name

a = <<pld.alloc_window_buffer(64)>> + 1
    ParserSyntaxError: must be assigned to a name, which names the buffer | buf = pld.alloc_window_buffer(...)

a = [<<pld.alloc_window_buffer(64)>>]
    ParserSyntaxError: must be assigned to a name, which names the buffer | buf = pld.alloc_window_buffer(...)

a = pld.alloc_window_buffer(<<99999999999999999999>>)
    ParserTypeError: the integer 99999999999999999999 does not fit 64 bits

a = pld.alloc_window_buffer(<<[2**31, 2**31, 2**31]>>, dtype=pl.FP32)
    ParserSyntaxError: the integer constant 39614081257132168796771975168 does not fit 64 bits

a = pld.world_size(<<1>>)
    InvalidOperationError: takes no arguments

a = pld.world_size(<<rank=0>>)
    InvalidOperationError: takes no arguments

a = pld.world_size(<<*x>>)
    InvalidOperationError: takes no arguments

a = pld.world_size(<<**x>>)
    InvalidOperationError: takes no arguments

a = pld.alloc_window_buffer(64)
a = <<pld.alloc_window_buffer(64)>>
    ParserSyntaxError: a window buffer 'a' exists already in this program | give it another name

a = pld.alloc_window_buffer(64)
w = <<pld.window(a, [4, 4])>>
    InvalidOperationError: needs 'dtype'

a = pld.alloc_window_buffer(64)
w = <<pld.window(a, [4, 4], pl.FP32)>>
    InvalidOperationError: takes at most 2 positional arguments, got 3

a = pld.alloc_window_buffer(64)
w = pld.window(a, [4, 4], dtype=pl.FP32, <<target_memory=pl.Mem.Vec>>)
    InvalidOperationError: has no parameter 'target_memory'

a = pld.alloc_window_buffer(64)
w = pld.window(a, <<[]>>, dtype=pl.FP32)
    InvalidOperationError: needs a shape of at least 1 dimension, got 0

a = pld.alloc_window_buffer(64)
w = pld.window(a, <<[0]>>, dtype=pl.FP32)
    InvalidOperationError: needs positive extents, got [0]

a = pld.alloc_window_buffer(64)
w = pld.window(a, <<16>>, dtype=pl.FP32)
    InvalidOperationError: takes a list of integers as 'shape', got INDEX scalar

a = pld.alloc_window_buffer(64)
w = pld.window(a, <<[1.5]>>, dtype=pl.FP32)
    InvalidOperationError: takes integers in 'shape', got FP32 scalar

a = pld.alloc_window_buffer(64)
w = <<pld.window(a, dtype=pl.FP32)>>
    InvalidOperationError: needs 'shape'

w = pld.window(<<x>>, [4], dtype=pl.FP32)
    InvalidOperationError: takes a Ptr as 'buf', got FP32 tensor [4, 16]

w = pld.window(<<k>>, [4], dtype=pl.FP32)
    InvalidOperationError: takes a Ptr as 'buf', got INDEX scalar

a = pld.alloc_window_buffer(64)
w = pld.window(a, [16], dtype=pl.FP32)
for r in pl.range(pld.world_size()):
    self.chip(<<w>>, device=r)
    ParserTypeError: chip takes FP32 distributed tensor [4, 8] as 'd', got FP32 distributed tensor [16]

with pl.at(level=pl.Level.CORE_GROUP):
    q = <<pld.alloc_window_buffer(128)>>
    ParserSyntaxError: cannot stand inside a scope that runs on a device | write it before the scope

with pl.at(level=pl.Level.CORE_GROUP):
    q = <<pld.world_size()>>
    ParserSyntaxError: cannot stand inside a scope that runs on a device | write it before the scope

a = pld.alloc_window_buffer(64)
w = pld.window(a, [4, 4], dtype=<<pl.FP64>>)
    ParserTypeError: there is no pl.FP64 | did you mean pl.FP4?

a = pld.alloc_window_buffer(64)
w: pl.Tensor[[4, 4], pl.FP32] = <<pld.window(a, [4, 4], dtype=pl.FP32)>>
    ParserTypeError: the annotation says FP32 tensor [4, 4], the value is FP32 distributed tensor [4, 4]

a = pld.alloc_window_buffer(64)
w: pld.DistributedTensor[[4, 5], pl.FP32] = <<pld.window(a, [4, 4], dtype=pl.FP32)>>
    ParserTypeError: the annotation says FP32 distributed tensor [4, 5], the value is FP32 distributed tensor [4, 4]: dimension 1 is 4, not 5
"""


class Case(NamedTuple):
    """A program around a marked body, and the one error that it must give."""

    body: str
    text: str
    error: type[Error]
    begin: tuple[int, int]
    end: tuple[int, int]
    words: list[str]


def cases(table: str, around: str, indent: str) -> list[Case]:
    """The cases of a table: the lines of a body, then ``Class: words | words`` indented."""
    found: list[Case] = []
    for block in table.strip("\n").split("\n\n"):
        *lines, expected = block.split("\n")
        name, _, words = expected.strip().partition(": ")
        body = "\n".join(lines)
        before, _, rest = body.partition("<<")
        inside, _, after = rest.partition(">>")
        first = around.count("\n") + 1
        begin = _place(before, first, len(indent))
        end = _place(before + inside, first, len(indent))
        text = around + textwrap.indent(before + inside + after, indent) + "\n"
        found.append(Case(body, text, getattr(errors, name), begin, end, words.split(" | ")))
    return found


def _place(text: str, first: int, indent: int) -> tuple[int, int]:
    """Line and column where a text ends that begins on line ``first``, indented."""
    lines = text.split("\n")
    return first + len(lines) - 1, indent + len(lines[-1]) + 1


CASES = [*cases(IN_KERNELS, KERNEL, "    "), *cases(IN_HOSTS, HOST, "        ")]


def check(caught: Error, case: Case, lines_before: int) -> None:
    assert type(caught) is case.error
    place = caught.place
    assert place is not None
    assert (place.begin_line - lines_before, place.begin_column) == case.begin
    assert (place.end_line - lines_before, place.end_column) == case.end
    said = f"{caught.message}\n{caught.hint}"
    for words in case.words:
        assert words in said
    rendered = str(caught)
    assert f"{place.begin_line} | " in rendered
    assert "^" in rendered
    assert "Traceback" not in rendered
    assert "internal" not in rendered


@pytest.mark.parametrize("case", CASES, ids=[c.body for c in CASES])
def test_as_text(case: Case) -> None:
    with pytest.raises(Error) as caught:
        parse(case.text)
    check(caught.value, case, 0)


@pytest.mark.parametrize("case", CASES, ids=[c.body for c in CASES])
def test_through_the_decorators(case: Case, tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(IMPORTS + case.text)
    with pytest.raises(Exception) as caught:  # noqa: PT011 - what it is is checked below
        runpy.run_path(str(file))
    if isinstance(caught.value, SyntaxError) and not isinstance(caught.value, Error):
        assert case.error is errors.PythonSyntaxError
        return
    error: Any = caught.value
    assert isinstance(error, Error)
    assert error.span["filename"] == str(file)
    check(error, case, IMPORTS.count("\n"))


def test_there_are_cases() -> None:
    assert len(CASES) > 250
