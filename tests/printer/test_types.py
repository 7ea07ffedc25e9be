"""Types: the text of every kind, with views, buffers and windows."""

from __future__ import annotations

import pytest

from pypto import ir
from pypto.ir.enums import CompactMode, MemorySpace, PadValue, TensorLayout, TileLayout
from pypto.printer import python_print, python_print_type

n = ir.Var("n", ir.ScalarType(ir.INDEX))
FP32, FP16 = ir.FP32, ir.FP16
buf = ir.Var("buf", ir.PtrType())


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        (ir.ScalarType(ir.INT64), "pl.Scalar[pl.INT64]"),
        (ir.TensorType([64, 128], FP32), "pl.Tensor[[64, 128], pl.FP32]"),
        (ir.TensorType([n, 8], FP32), "pl.Tensor[[n, 8], pl.FP32]"),
        (ir.TensorType([ir.Mul(n, ir.index_const(8), ir.INDEX)], FP32), "pl.Tensor[[n * pl.const(8, pl.INDEX)], pl.FP32]"),
        (
            ir.TensorType([ir.max_(ir.min_(ir.sub(n, 8), 8), 0)], FP32),
            "pl.Tensor[[pl.max(pl.min(n - pl.const(8, pl.INDEX), pl.const(8, pl.INDEX)), pl.const(0, pl.INDEX))], pl.FP32]",
        ),
        (ir.TensorType([ir.ConstInt(8, ir.INT64)], FP32), "pl.Tensor[[pl.const(8, pl.INT64)], pl.FP32]"),
        (ir.DistributedTensorType([8], FP32), "pld.DistributedTensor[[8], pl.FP32]"),
        (
            ir.DistributedTensorType([8], FP32, ir.WindowBuffer(buf, ir.index_const(32), load_from_host=True)),
            'pld.DistributedTensor[[8], pl.FP32, pld.WindowBuffer("buf", load_from_host=True)]',
        ),
        (
            ir.TensorType([8, 4], FP32, None, ir.TensorView([1, 8], TensorLayout.DN)),
            "pl.Tensor[[8, 4], pl.FP32, pl.TensorView(stride=[1, 8], layout=pl.TensorLayout.DN)]",
        ),
        (
            ir.TensorType([8], FP32, None, ir.TensorView([], TensorLayout.ND, [n], PadValue.zero)),
            "pl.Tensor[[8], pl.FP32, pl.TensorView(valid_shape=[n], stride=[], layout=pl.TensorLayout.ND, pad=pl.PadValue.zero)]",
        ),
        (ir.TileType([64, 64], FP16), "pl.Tile[[64, 64], pl.FP16]"),
        (ir.TileType([64, 64], FP16, None, None, MemorySpace.Vec), "pl.Tile[[64, 64], pl.FP16, pl.Mem.Vec]"),
        (
            ir.TileType([64, 64], FP16, None, ir.TileView(valid_shape=[8, n]), MemorySpace.Vec),
            "pl.Tile[[64, 64], pl.FP16, pl.Mem.Vec, pl.TileView(valid_shape=[8, n])]",
        ),
        (
            ir.TileType(
                [64, 64],
                FP16,
                None,
                ir.TileView([], [64, 1], n, TileLayout.col_major, TileLayout.row_major, 1024, PadValue.min),
            ),
            "pl.Tile[[64, 64], pl.FP16, pl.TileView(stride=[64, 1], start_offset=n, blayout=pl.TileLayout.col_major, "
            "slayout=pl.TileLayout.row_major, fractal=1024, pad=pl.PadValue.min)]",
        ),
        (
            ir.TileType([8], FP16, None, ir.TileView(compact=CompactMode.normal)),
            "pl.Tile[[8], pl.FP16, pl.TileView(compact=pl.CompactMode.normal)]",
        ),
        (
            ir.TileType([64, 64], FP16, ir.MemRef(buf, 0, 8192), None, MemorySpace.Vec),
            'pl.Tile[[64, 64], pl.FP16, pl.MemRef("buf", pl.const(0, pl.INT64), 8192), pl.Mem.Vec]',
        ),
        (
            ir.TileType([8, 8], FP16, ir.MemRef("ring", slots=3)[1], None, MemorySpace.Vec),
            'pl.Tile[[8, 8], pl.FP16, pl.MemRef("ring", slots=3)[1], pl.Mem.Vec]',
        ),
        (ir.ArrayType(ir.INT32, 16), "pl.Array[16, pl.INT32]"),
        (ir.TupleType([ir.ScalarType(ir.INDEX), ir.PtrType()]), "pl.Tuple[pl.Scalar[pl.INDEX], pl.Ptr]"),
        (ir.TupleType([]), "pl.Tuple[()]"),
        (ir.UnknownType(), "pl.UnknownType"),
        (ir.PtrType(), "pl.Ptr"),
        (ir.MemRefType(), "pl.MemRefType"),
        (ir.WindowBufferType(), "pld.WindowBufferType"),
        (ir.CommCtxType(), "pld.CommCtxType"),
        (ir.PrefetchAsyncContextType(), "pl.PrefetchAsyncContext"),
        (ir.AsyncEventType(), "pl.AsyncEvent"),
        (ir.AsyncSessionType(), "pl.AsyncSession"),
    ],
)
def test_type(type_: ir.Type, text: str) -> None:
    assert python_print(type_) == text
    assert python_print_type(type_) == text
    assert str(type_) == text


def test_every_element_type_prints_under_its_member_name() -> None:
    from pypto.ir.dtypes import DTYPES

    assert [python_print(ir.ScalarType(d)) for d in DTYPES.values()] == [f"pl.Scalar[pl.{name}]" for name in DTYPES]


def test_prefix_spares_the_distributed_namespace() -> None:
    type_ = ir.DistributedTensorType([8], FP32, None, ir.TensorView([1], TensorLayout.ND))
    assert (
        python_print(type_, prefix="L")
        == "pld.DistributedTensor[[8], L.FP32, L.TensorView(stride=[1], layout=L.TensorLayout.ND)]"
    )


def test_explicit_layout_shows_what_is_implied() -> None:
    tile = ir.TileType([16, 16], FP16, None, None, MemorySpace.Acc)
    assert python_print(tile, explicit_layout=True) == (
        "pl.Tile[[16, 16], pl.FP16, pl.Mem.Acc, pl.TileView(blayout=pl.TileLayout.col_major, "
        "slayout=pl.TileLayout.row_major, fractal=1024)]"
    )
    window = ir.DistributedTensorType([8], FP32, ir.WindowBuffer(buf, ir.index_const(32)))
    assert python_print(window, explicit_layout=True) == 'pld.DistributedTensor[[8], pl.FP32, "window_buffer=buf"]'


def test_long_types_break() -> None:
    type_ = ir.TupleType([ir.TensorType([64, 64], FP32)] * 2)
    assert python_print(type_, line_length=50) == (
        "pl.Tuple[\n    pl.Tensor[[64, 64], pl.FP32],\n    pl.Tensor[[64, 64], pl.FP32],\n]"
    )
