# Written by tools/generate.py from the declarations; do not edit.
from typing import Any

from pypto.ir.enums import AtomicType as AtomicType
from pypto.ir.enums import NotifyOp as NotifyOp
from pypto.ir.enums import ReduceOp as ReduceOp
from pypto.ir.enums import WaitCmp as WaitCmp
from pypto.language.annotations import CommCtx as CommCtx
from pypto.language.annotations import DistributedTensor as DistributedTensor
from pypto.language.annotations import WindowBuffer as WindowBuffer
from pypto.language.annotations import WindowBufferType as WindowBufferType

CommCtxType = CommCtx

def comm_domain(*args: Any, **kwargs: Any) -> Any:
    """A communication domain: the ranks that share the windows allocated inside it."""

def alloc_window_buffer(size: Any, *, dtype: Any = ...) -> Any:
    """Allocate a window buffer: zeroed room on every rank of the communication domain that uses it. Host orchestrators only."""

def get_comm_ctx(dist_tensor: Any) -> Any:
    """The communication context of a distributed tensor: which ranks share its window, and which of them this one is."""

def nranks(ctx: Any, *, expected: Any = ...) -> Any:
    """The number of ranks in the communication domain."""

def rank(ctx: Any) -> Any:
    """Which rank of its communication domain this one is, counted from 0."""

def remote_load(target: Any, peer: Any, offsets: Any, shape: Any, valid_shape: Any = ...) -> Any:
    """Copy a window of another rank's tensor into a tile."""

def remote_store(src: Any, target: Any, peer: Any, offsets: Any, *, atomic: Any = ...) -> Any:
    """Copy a tensor into another rank's tensor."""

def window(buf: Any, shape: Any, *, dtype: Any) -> Any:
    """See a window buffer as a distributed tensor."""

def world_size() -> Any:
    """The number of ranks, for host orchestrators."""

class _system:
    @staticmethod
    def defer_wait(signal: Any, offsets: Any, expected: Any, *, cmp: Any) -> Any:
        """A wait whose task gives up its core meanwhile."""

    @staticmethod
    def get_comm_ctx(dist_tensor: Any) -> Any:
        """The communication context of a distributed tensor: which ranks share its window, and which of them this one is."""

    @staticmethod
    def notify(target: Any, peer: Any, offsets: Any, value: Any, *, op: Any) -> Any:
        """Post to a signal cell of another rank. What this rank wrote before is visible there first."""

    @staticmethod
    def nranks(ctx: Any, *, expected: Any = ...) -> Any:
        """The number of ranks in the communication domain."""

    @staticmethod
    def rank(ctx: Any) -> Any:
        """Which rank of its communication domain this one is, counted from 0."""

    @staticmethod
    def wait(signal: Any, offsets: Any, expected: Any, *, cmp: Any) -> Any:
        """Wait until a signal cell of this rank holds, or has reached, a value. What its posters wrote before is visible then."""

    @staticmethod
    def world_size() -> Any:
        """The number of ranks, for host orchestrators."""

system: type[_system]

class _tensor:
    @staticmethod
    def all_to_all(input: Any, target: Any, signal: Any) -> Any:
        """Row s of rank r's target becomes row r of rank s's input."""

    @staticmethod
    def all_to_all_v(input: Any, target: Any, signal: Any, send_counts: Any, recv_counts: Any) -> Any:
        """Block s of rank r's target becomes block r of rank s's input; counts say how many rows of a block are of use."""

    @staticmethod
    def allgather(local_data: Any, target: Any, signal: Any) -> Any:
        """Row r of every rank's target [NR, SIZE] becomes the row of rank r."""

    @staticmethod
    def alloc_window_buffer(size: Any, *, dtype: Any = ...) -> Any:
        """Allocate a window buffer: zeroed room on every rank of the communication domain that uses it. Host orchestrators
        only.
        """

    @staticmethod
    def allreduce(target: Any, signal: Any = ..., *, op: Any = ..., mode: Any = ..., core_num: Any = ...) -> Any:
        """Every rank's tensor becomes the reduction of all ranks' tensors."""

    @staticmethod
    def barrier(signal: Any) -> Any:
        """Wait until every rank has come here; gives the signal."""

    @staticmethod
    def broadcast(target: Any, signal: Any, *, root: Any) -> Any:
        """Every rank's tensor becomes that of the root."""

    @staticmethod
    def get(
        dst: Any,
        peer: Any,
        src: Any,
        dst_offsets: Any = ...,
        src_offsets: Any = ...,
        shape: Any = ...,
        *,
        chunk_rows: Any = ...,
        chunk_cols: Any = ...,
        pipeline: Any = ...,
    ) -> Any:
        """Copy a region of another rank's tensor into a tensor of this rank."""

    @staticmethod
    def put(
        dst: Any,
        peer: Any,
        src: Any,
        dst_offsets: Any = ...,
        src_offsets: Any = ...,
        shape: Any = ...,
        *,
        atomic: Any = ...,
        chunk_rows: Any = ...,
        chunk_cols: Any = ...,
        pipeline: Any = ...,
    ) -> Any:
        """Copy a region of a tensor into another rank's tensor."""

    @staticmethod
    def reduce_scatter(target: Any, signal: Any, *, op: Any = ...) -> Any:
        """Row r of rank r's tensor [NR, SIZE] becomes the sum of all ranks' rows r."""

    @staticmethod
    def remote_store(src: Any, target: Any, peer: Any, offsets: Any, *, atomic: Any = ...) -> Any:
        """Copy a tensor into another rank's tensor."""

    @staticmethod
    def window(buf: Any, shape: Any, *, dtype: Any) -> Any:
        """See a window buffer as a distributed tensor."""

tensor: type[_tensor]

class _tile:
    @staticmethod
    def get(
        dst: Any,
        peer: Any,
        src: Any,
        stage: Any,
        stage2: Any = ...,
        dst_offsets: Any = ...,
        src_offsets: Any = ...,
        shape: Any = ...,
    ) -> Any:
        """Copy a region of another rank's tensor into a tensor of this rank, in pieces as large as the stage."""

    @staticmethod
    def put(
        dst: Any,
        peer: Any,
        src: Any,
        stage: Any,
        stage2: Any = ...,
        dst_offsets: Any = ...,
        src_offsets: Any = ...,
        shape: Any = ...,
        *,
        atomic: Any = ...,
    ) -> Any:
        """Copy a region of a tensor or tile into another rank's tensor, in pieces as large as the stage."""

    @staticmethod
    def remote_load(target: Any, peer: Any, offsets: Any, shape: Any, valid_shape: Any = ...) -> Any:
        """Copy a window of another rank's tensor into a tile."""

    @staticmethod
    def remote_store(src_tile: Any, target: Any, peer: Any, offsets: Any, *, atomic: Any = ...) -> Any:
        """Copy a tile into another rank's tensor."""

tile: type[_tile]
