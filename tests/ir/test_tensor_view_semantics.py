"""Packed strides and well-formed views."""

from __future__ import annotations

import numpy as np
import pytest

from pypto import ir
from pypto.ir import tensor_view_semantics as views
from pypto.ir.span import UNKNOWN

ND, DN, NZ = ir.TensorLayout.ND, ir.TensorLayout.DN, ir.TensorLayout.NZ
N = ir.Var("n", ir.ScalarType(ir.INDEX), UNKNOWN)


def values(strides: list) -> list[int]:
    return [stride.value for stride in strides]


@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 3, 4), (2, 3, 4, 5)])
def test_packed_strides_are_those_of_numpy(shape: tuple[int, ...]) -> None:
    array = np.zeros(shape, np.int8)
    assert values(views.build_logical_strides_from_layout(shape, ND)) == list(array.strides)
    assert views.compute_shape_product(shape).value == array.size
    if len(shape) >= 2:
        swapped = np.zeros((*shape[:-2], shape[-1], shape[-2]), np.int8).swapaxes(-1, -2)
        assert swapped.shape == shape
        assert values(views.build_logical_strides_from_layout(shape, DN)) == list(swapped.strides)


def test_symbolic_strides() -> None:
    strides = views.build_logical_strides_from_layout([2, N, 4], ND)
    assert strides[2].value == 1
    assert strides[1].value == 4
    assert ir.structural_equal(strides[0], ir.Mul(N, ir.index_const(4), ir.INDEX))
    assert views.build_logical_strides_from_layout([N, 1], ND)[0].value == 1
    assert views.build_logical_strides_from_layout([N, 8], DN)[1] is N
    assert views.compute_shape_product([]).value == 1


def test_layouts_without_strides() -> None:
    for shape, layout in (([4, 4], NZ), ([4], DN)):
        with pytest.raises(ValueError, match="layout"):
            views.build_logical_strides_from_layout(shape, layout)
        assert not views.is_canonical_view(shape, [1] * len(shape), layout)


def test_derive_layout() -> None:
    assert views.derive_layout_from_strides([3, 4], [4, 1]) is ND
    assert views.derive_layout_from_strides([3, 4], [1, 3]) is DN
    assert views.derive_layout_from_strides([3, 4], [8, 1]) is None
    assert views.derive_layout_from_strides([3, 4], [1]) is None
    assert views.derive_layout_from_strides([N, 4], views.build_logical_strides_from_layout([N, 4], DN)) is DN


@pytest.mark.parametrize(
    ("shape", "stride", "layout", "relaxed", "words"),
    [
        ([3, 4], [4, 1], ND, True, ""),
        ([3, 4], [16, 1], ND, True, ""),
        ([3, 4], [1, 3], DN, True, ""),
        ([3, 4], [3, 1], ND, True, "stride of axis 0 must be at least 4"),
        ([3, 4], [8, 2], ND, True, "stride of axis 1 must be 1"),
        ([3, 4], [4, 1], DN, True, "stride of axis 0 must be 1"),
        ([3, 4], [1], ND, True, "1 strides for 2 axes"),
        ([3, 4], [N, 1], ND, True, ""),
        ([3, 4], [N, 1], ND, False, "symbolic"),
        ([3, 4, N], [ir.Mul(ir.index_const(4), N, ir.INDEX), N, 1], ND, False, ""),
    ],
)
def test_canonical_views(shape: list, stride: list, layout: ir.TensorLayout, relaxed: bool, words: str) -> None:
    ok, reason = views.check_canonical_view(shape, stride, layout, relaxed)
    assert ok is (words == "")
    assert words in reason
    assert views.is_canonical_view(shape, stride, layout, relaxed) is ok


def test_canonicalize() -> None:
    view = views.canonicalize_view([3, 4], DN)
    assert (values(view.stride), view.layout) == ([1, 3], DN)
