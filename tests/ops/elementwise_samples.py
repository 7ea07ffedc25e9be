"""One full set of operands for every elementwise operator."""

from __future__ import annotations

from typing import Any

from pypto.ir.dtypes import DataType
from tests.ops.operands import tensor, tile

FP32, FP16, INT32, INT16, UINT8 = DataType.FP32, DataType.FP16, DataType.INT32, DataType.INT16, DataType.UINT8
SHAPE = [4, 32]


def _samples() -> dict[str, dict[str, Any]]:
    made: dict[str, dict[str, Any]] = {}
    for space, of, one in (("tile", tile, "tile"), ("tensor", tensor, "input")):
        for leaf in ("neg", "abs", "exp", "sqrt", "sin", "cos", "relu"):
            made[f"{space}.{leaf}"] = {one: of(SHAPE)}
        made[f"{space}.log"] = {one: of(SHAPE, FP16), "high_precision": True}
        made[f"{space}.recip"] = {one: of(SHAPE), "high_precision": True}
        made[f"{space}.rsqrt"] = {one: of(SHAPE), **({"tmp": tile(SHAPE)} if space == "tile" else {"high_precision": True})}
        made[f"{space}.not"] = {one: of(SHAPE, INT16)}
        made[f"{space}.cast"] = {one: of(SHAPE), "target_type": DataType.BF16, "mode": "rint"}
        for leaf in ("add", "sub", "mul", "fmod", "maximum", "minimum"):
            made[f"{space}.{leaf}"] = {"lhs": of(SHAPE), "rhs": of(SHAPE)}
        made[f"{space}.div"] = {"lhs": of(SHAPE), "rhs": of(SHAPE), "high_precision": True}
        for leaf in ("adds", "subs", "muls", "divs", "fmods"):
            made[f"{space}.{leaf}"] = {"lhs": of(SHAPE), "rhs": 2}
        for leaf in ("part_add", "part_mul", "part_max", "part_min"):
            made[f"{space}.{leaf}"] = {"src0": of(SHAPE), "src1": of(SHAPE)}
        for leaf in ("and", "or", "xor", "shl", "shr"):
            tmp = {"tmp": tile(SHAPE, INT32)} if (space, leaf) == ("tile", "xor") else {}
            made[f"{space}.{leaf}"] = {"lhs": of(SHAPE, INT32), "rhs": of(SHAPE, INT32), **tmp}
            made[f"{space}.{leaf}s"] = {"lhs": of(SHAPE, INT32), "rhs": 3, **tmp}
        made[f"{space}.cmp"] = {"lhs": of(SHAPE), "rhs": of(SHAPE), "cmp_type": 4}
    del made["tensor.relu"]
    scratch = tile(SHAPE)
    for leaf in ("maximums", "minimums"):
        made[f"tile.{leaf}"] = {"lhs": tile(SHAPE), "rhs": 2}
    made["tile.rem"] = {"lhs": tile(SHAPE), "rhs": tile(SHAPE), "tmp": scratch}
    made["tile.rems"] = {"lhs": tile(SHAPE), "rhs": 3, "tmp": scratch}
    for leaf in ("addc", "subc"):
        made[f"tile.{leaf}"] = {"lhs": tile(SHAPE), "rhs": tile(SHAPE), "rhs2": tile(SHAPE)}
        made[f"tile.{leaf[:3]}sc"] = {"lhs": tile(SHAPE), "rhs": 3, "rhs2": tile(SHAPE)}
    made["tile.lrelu"] = {"tile": tile(SHAPE), "slope": 0.5}
    made["tile.prelu"] = {"tile": tile(SHAPE), "slope": tile(SHAPE), "tmp": scratch}
    made["tile.cmps"] = {"lhs": tile(SHAPE), "rhs": 2, "cmp_type": 5}
    made["tile.sel"] = {"mask": tile([4, 32], UINT8, valid=[4, 4]), "lhs": tile(SHAPE), "rhs": tile(SHAPE), "tmp": scratch}
    made["tile.sels"] = {"mask": tile([4, 32], UINT8, valid=[4, 4]), "src": tile(SHAPE), "tmp": scratch, "scalar": 2}
    return made


ELEMENTWISE: dict[str, dict[str, Any]] = _samples()
