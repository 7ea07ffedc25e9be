"""Every tensor operator of the vocabulary inside a kernel: it becomes tile operators that mean the same, or is refused by name."""

from __future__ import annotations

import pytest
from kernels import Sample, ops_of, prepare, program_of

from pypto import passes
from pypto.diagnostics import InvalidValueError
from pypto.ir.op import declared_ops
from pypto.ir.verify import verify
from pypto.testing import assert_roundtrip, assert_same_meaning

F = "FP32"
ONE = "a: [16, 32] FP32"
TWO = "a: [16, 32] FP32, b: [16, 32] FP32"
INTS = "a: [16, 32] INT32, b: [16, 32] INT32"
OUT = "[16, 32] FP32"


def unary(leaf: str, value: str = "a", dtype: str = F, **more: str) -> Sample:
    return Sample(f"a: [16, 32] {dtype}", f"pl.tensor.{leaf}({value})", f"[16, 32] {dtype}", (f"tile.{leaf}",))


def pair(leaf: str, dtype: str = F) -> Sample:
    spelled = leaf + "_" if leaf in ("and", "or", "not") else leaf
    return Sample(
        f"a: [16, 32] {dtype}, b: [16, 32] {dtype}", f"pl.tensor.{spelled}(a, b)", f"[16, 32] {dtype}", (f"tile.{leaf}",)
    )


def scalar(leaf: str, value: str, dtype: str = F) -> Sample:
    return Sample(f"a: [16, 32] {dtype}", f"pl.tensor.{leaf}(a, {value})", f"[16, 32] {dtype}", (f"tile.{leaf}",))


POSITIVE = "p = pl.tensor.adds(pl.tensor.abs(a), 0.5)"
SAMPLES: dict[str, list[Sample]] = {
    **{f"tensor.{leaf}": [unary(leaf)] for leaf in ("abs", "neg", "exp", "sin", "cos")},
    "tensor.log": [
        Sample(ONE, "pl.tensor.log(p)", OUT, ("tile.log",), POSITIVE),
        Sample(ONE, "pl.tensor.log(p, high_precision=True)", OUT, ("tile.log",), POSITIVE),
    ],
    "tensor.sqrt": [Sample(ONE, "pl.tensor.sqrt(p)", OUT, ("tile.sqrt",), POSITIVE)],
    "tensor.recip": [Sample(ONE, "pl.tensor.recip(p)", OUT, ("tile.recip",), POSITIVE)],
    "tensor.rsqrt": [
        Sample(ONE, "pl.tensor.rsqrt(p)", OUT, ("tile.rsqrt",), POSITIVE),
        Sample(ONE, "pl.tensor.rsqrt(p, high_precision=True)", OUT, ("tile.create", "tile.rsqrt"), POSITIVE),
    ],
    "tensor.not": [Sample("a: [16, 32] INT16", "pl.tensor.not_(a)", "[16, 32] INT16", ("tile.not",))],
    "tensor.cast": [
        Sample(ONE, "pl.tensor.cast(a, pl.INT32, mode='floor')", "[16, 32] INT32", ("tile.cast",)),
        Sample(ONE, "pl.tensor.cast(a, pl.FP16)", "[16, 32] FP16", ("tile.cast",)),
    ],
    **{f"tensor.{leaf}": [pair(leaf, "INT32")] for leaf in ("and", "or", "xor", "shl", "shr")},
    **{f"tensor.{leaf}s": [scalar(f"{leaf}s", "3", "INT32")] for leaf in ("and", "or", "xor", "shl", "shr")},
    **{
        f"tensor.{leaf}s": [scalar(f"{leaf}s", "1.5"), scalar(f"{leaf}s", "2", "INT32")]
        for leaf in ("add", "sub", "mul", "div", "fmod")
    },
    "tensor.add": [
        pair("add"),
        pair("add", "INT32"),
        Sample("a: [16, 32] FP32, b: [16, 1] FP32", "pl.tensor.add(a, b)", OUT, ("tile.row_expand_add",)),
        Sample("a: [16, 1] FP32, b: [16, 32] FP32", "pl.tensor.add(a, b)", OUT, ("tile.row_expand_add",)),
        Sample("a: [1, 32] FP32, b: [16, 32] FP32", "pl.tensor.add(a, b)", OUT, ("tile.add",)),
        Sample("a: [16, 32] FP16, b: [16, 32] FP32", "pl.tensor.add(a, b)", OUT),
        Sample("a: [16, 32] FP16, b: [16, 1] FP32", "pl.tensor.add(a, b)", OUT),
        Sample("a: [16, 32] BF16, b: [16, 1] BF16", "pl.tensor.add(a, b)", "[16, 32] BF16"),
    ],
    "tensor.sub": [
        pair("sub"),
        Sample("a: [16, 32] FP32, b: [16, 1] FP32", "pl.tensor.sub(a, b)", OUT, ("tile.row_expand_sub",)),
        Sample("a: [16, 1] FP32, b: [16, 32] FP32", "pl.tensor.sub(a, b)", OUT),
    ],
    "tensor.mul": [
        pair("mul"),
        Sample("a: [16, 32] FP32, b: [16, 1] FP32", "pl.tensor.mul(a, b)", OUT, ("tile.row_expand_mul",)),
        Sample("a: [16, 1] FP32, b: [16, 32] FP32", "pl.tensor.mul(a, b)", OUT, ("tile.row_expand_mul",)),
        Sample("a: [4, 16, 32] FP32, b: [4, 16, 1] FP32", "pl.tensor.mul(a, b)", "[4, 16, 32] FP32", ("tile.row_expand_mul",)),
    ],
    "tensor.div": [
        Sample(TWO, "pl.tensor.div(b, p)", OUT, ("tile.div",), POSITIVE),
        Sample(TWO, "pl.tensor.div(b, p, high_precision=True)", OUT, ("tile.div",), POSITIVE),
        Sample("a: [16, 1] FP32, b: [16, 32] FP32", "pl.tensor.div(b, p)", OUT, ("tile.row_expand_div",), POSITIVE),
        Sample("a: [16, 1] FP32, b: [16, 32] FP16", "pl.tensor.div(b, p)", OUT, ("tile.cast", "tile.row_expand_div"), POSITIVE),
        Sample("a: [16, 32] FP32, b: [16, 32] INT32", "pl.tensor.div(b, p)", OUT, ("tile.cast", "tile.div"), POSITIVE),
        Sample("a: [16, 1] INT32, b: [16, 32] INT32", "pl.tensor.div(b, a)", "[16, 32] INT32", ("tile.div",)),
        Sample("a: [16, 1] FP32, b: [16, 32] FP32", "pl.tensor.div(b, p, high_precision=True)", OUT, ("tile.div",), POSITIVE),
        Sample("a: [16, 32] FP32, b: [16, 1] FP32", "pl.tensor.div(b, p)", OUT, ("tile.div",), POSITIVE),
        Sample("a: [1, 32] FP32, b: [16, 32] FP32", "pl.tensor.div(b, p)", OUT, ("tile.div",), POSITIVE),
        *[
            Sample(f"a: {divisor} FP32, b: {dividend} FP32", "pl.tensor.div(b, p)", f"{result} FP32", ("tile.div",), POSITIVE)
            for dividend, divisor, result in (
                ("[4, 1]", "[1, 32]", "[4, 32]"),
                ("[1, 4]", "[8, 1]", "[8, 4]"),
                ("[8, 4]", "[1, 1]", "[8, 4]"),
                ("[1, 1]", "[8, 4]", "[8, 4]"),
                ("[2, 8, 1]", "[1, 4]", "[2, 8, 4]"),
                ("[2, 4, 32]", "[4, 32]", "[2, 4, 32]"),
                ("[8, 4]", "[4]", "[8, 4]"),
                ("[4]", "[4]", "[4]"),
            )
        ],
    ],
    "tensor.fmod": [Sample(TWO, "pl.tensor.fmod(b, p)", OUT, ("tile.fmod",), POSITIVE)],
    **{
        f"tensor.{leaf}": [
            pair(leaf),
            Sample(ONE, f"pl.tensor.{leaf}(a, 0.5)", OUT, (f"tile.{leaf}s",)),
            Sample("a: [16, 32] FP32, s: FP32", f"pl.tensor.{leaf}(a, s)", OUT, (f"tile.{leaf}s",)),
            Sample("a: [16, 32] FP16, b: [16, 32] FP32", f"pl.tensor.{leaf}(a, b)", OUT),
        ]
        for leaf in ("maximum", "minimum")
    },
    **{f"tensor.part_{leaf}": [pair(f"part_{leaf}")] for leaf in ("add", "mul", "max", "min")},
    "tensor.cmp": [
        Sample(TWO, "pl.tensor.cmp(a, b, cmp_type=2)", OUT, ("tile.cmp", "tile.sel")),
        *[Sample(INTS, f"pl.tensor.cmp(a, b, cmp_type={n})", "[16, 32] INT32") for n in range(6)],
        Sample(ONE, "pl.tensor.cmp(a, 0.5, cmp_type=4)", OUT, ("tile.cmps", "tile.sel")),
        Sample("a: [16, 32] FP16, b: [16, 32] FP32", "pl.tensor.cmp(a, b, cmp_type=5)", OUT),
        Sample("a: [16, 32] FP32, b: [16, 1] FP32", "pl.tensor.cmp(a, b, cmp_type=5)", OUT),
        Sample("a: [5, 7] FP32, b: [5, 7] FP32", "pl.tensor.cmp(a, b, cmp_type=1)", "[5, 7] FP32"),
        Sample("a: [4, 1] FP32, b: [1, 32] FP32", "pl.tensor.cmp(a, b)", "[4, 32] FP32"),
        Sample("a: [2, 4, 32] FP32, b: [4, 32] FP32", "pl.tensor.cmp(a, b, cmp_type=3)", "[2, 4, 32] FP32"),
    ],
    **{
        f"tensor.row_{leaf}": [
            Sample(ONE, f"pl.tensor.row_{leaf}(a)", "[16, 1] FP32", ("tile.create", f"tile.row_{leaf}")),
            Sample("a: [2, 16, 200] FP32", f"pl.tensor.row_{leaf}(a)", "[2, 16, 1] FP32", (f"tile.row_{leaf}",)),
        ]
        for leaf in ("sum", "max", "min", "prod")
    },
    **{
        f"tensor.col_{leaf}": [Sample(ONE, f"pl.tensor.col_{leaf}(a)", "[1, 32] FP32", (f"tile.col_{leaf}",))]
        for leaf in ("sum", "max", "min", "prod")
    },
    **{
        f"tensor.row_{leaf}": [Sample(ONE, f"pl.tensor.row_{leaf}(a)", "[16, 1] INT32", (f"tile.row_{leaf}",))]
        for leaf in ("argmax", "argmin")
    },
    **{
        f"tensor.col_{leaf}": [Sample(ONE, f"pl.tensor.col_{leaf}(a)", "[1, 32] INT32", (f"tile.col_{leaf}",))]
        for leaf in ("argmax", "argmin")
    },
    **{
        f"tensor.row_expand{leaf}": [
            Sample(
                "a: [16, 32] FP32, b: [16, 1] FP32",
                f"pl.tensor.row_expand{leaf}(a, p)",
                OUT,
                (f"tile.row_expand{leaf}",),
                "p = pl.tensor.adds(pl.tensor.abs(b), 0.5)",
            )
        ]
        for leaf in ("", "_add", "_sub", "_mul", "_div", "_max", "_min", "_expdif")
    },
    **{
        f"tensor.col_expand{leaf}": [
            Sample(
                "a: [16, 32] FP32, b: [1, 32] FP32",
                f"pl.tensor.col_expand{leaf}(a, p)",
                OUT,
                (f"tile.col_expand{leaf}",),
                "p = pl.tensor.adds(pl.tensor.abs(b), 0.5)",
            )
        ]
        for leaf in ("", "_add", "_sub", "_mul", "_div", "_max", "_min", "_expdif")
    },
    "tensor.expands": [
        scalar("expands", "1.5"),
        Sample("a: [16, 32] FP32, s: FP32", "pl.tensor.expands(a, s)", OUT, ("tile.expands",)),
    ],
    "tensor.expand_clone": [
        Sample("a: [1, 16, 32] FP32, b: [4, 16, 32] FP32", "pl.tensor.expand_clone(a, b)", "[4, 16, 32] FP32"),
        Sample("a: [4, 1, 32] FP32, b: [4, 16, 32] FP32", "pl.tensor.expand_clone(a, b)", "[4, 16, 32] FP32"),
        Sample("a: [4, 16, 1] FP32, b: [4, 16, 32] FP32", "pl.tensor.expand_clone(a, b)", "[4, 16, 32] FP32"),
        Sample("a: [4, 16, 32] FP32, b: [4, 16, 32] FP32", "pl.tensor.expand_clone(a, b)", "[4, 16, 32] FP32"),
    ],
    "tensor.reshape": [Sample(ONE, "pl.tensor.reshape(a, [8, 64])", "[8, 64] FP32", ("tile.reshape",))],
    "tensor.reinterpret_view": [
        Sample(ONE, "pl.tensor.reinterpret_view(a, dtype=pl.INT32)", "[16, 32] INT32", ("tile.reinterpret_view",)),
        Sample(
            ONE, "pl.tensor.reinterpret_view(a, dtype=pl.INT16, shape=[32, 32])", "[32, 32] INT16", ("tile.reinterpret_view",)
        ),
    ],
    "tensor.view": [Sample(ONE, "pl.tensor.exp(pl.tensor.view(a, [8, 64]))", "[8, 64] FP32", ("tile.exp",))],
    "tensor.transpose": [
        Sample(ONE, "pl.tensor.transpose(a, 0, 1)", "[32, 16] FP32", ("tile.transpose",)),
        Sample("a: [4, 16, 32] FP32", "pl.tensor.transpose(a, 1, 2)", "[4, 32, 16] FP32", ("tile.transpose",)),
    ],
    "tensor.concat": [Sample("a: [16, 32] FP32, b: [16, 8] FP32", "pl.tensor.concat(a, b)", "[16, 40] FP32", ("tile.concat",))],
    "tensor.set_validshape": [
        Sample(
            ONE,
            "pl.tensor.fillpad(pl.tensor.set_validshape(a, 4, 7), pad_value=pl.PadValue.max)",
            OUT,
            ("tile.set_validshape", "tile.fillpad"),
        ),
        Sample(
            "a: [16, 32] FP32, n: INDEX",
            "pl.tensor.row_sum(pl.tensor.set_validshape(a, 16, n))",
            "[16, 1] FP32",
            ("tile.set_validshape",),
        ),
    ],
    "tensor.fillpad": [
        Sample(
            ONE,
            "pl.tensor.fillpad(pl.tensor.slice(a, [16, 32], [0, 0], [3, 5]), pad_value=pl.PadValue.min)",
            OUT,
            ("tile.fillpad",),
        ),
    ],
    "tensor.fillpad_expand": [
        Sample(
            ONE, "pl.tensor.fillpad_expand(a, [32, 40], pad_value=pl.PadValue.zero)", "[32, 40] FP32", ("tile.fillpad_expand",)
        )
    ],
    "tensor.full": [Sample(ONE, "pl.tensor.add(a, pl.tensor.full([16, 32], pl.FP32, 2.5))", OUT, ("tile.full",))],
    "tensor.create": [
        Sample(ONE, "pl.tensor.add(a, pl.tensor.create([16, 32], dtype=pl.FP32, init_value=2.5))", OUT, ("tile.full",)),
        Sample(
            ONE, "pl.tensor.assemble(pl.tensor.create([16, 32], dtype=pl.FP32), a, [0, 0])", OUT, ("tile.create", "tile.assemble")
        ),
    ],
    "tensor.ci": [Sample("n: INT32", "pl.tensor.ci(n, [1, 32], dtype=pl.INT32)", "[1, 32] INT32", ("tile.ci",))],
    "tensor.random": [
        Sample("n: INT32", "pl.tensor.random(n, 1, 2, 3, 4, 5, [8, 32], dtype=pl.UINT32)", "[8, 32] UINT32", ("tile.random",))
    ],
    "tensor.slice": [
        Sample("a: [64, 32] FP32, n: INDEX", "pl.tensor.slice(a, [16, 32], [n, 0])", OUT, ("tile.load",)),
        Sample(ONE, "pl.tensor.slice(pl.tensor.exp(a), [8, 16], [8, 16])", "[8, 16] FP32", ("tile.slice",)),
        Sample("a: [4, 16, 32] FP32", "pl.tensor.slice(a, [1, 16, 32], [2, 0, 0], drop_dims=[0])", OUT, ("tile.load",)),
        Sample(
            "a: [4, 16, 32] FP32",
            "pl.tensor.slice(pl.tensor.exp(a), [1, 16, 32], [2, 0, 0], drop_dims=[0])",
            OUT,
            ("tile.slice",),
        ),
        Sample("a: [4, 16, 32] FP32", "pl.tensor.slice(a, [1, 1, 32], [2, 3, 0], drop_dims=[0, 1])", "[32] FP32"),
        Sample(
            "a: [16, 32] FP32, n: INDEX",
            "pl.tensor.row_sum(pl.tensor.slice(a, [8, 16], [8, 16], [8, n]))",
            "[8, 1] FP32",
            ("tile.load",),
        ),
        Sample(
            "a: [16, 32] FP32, n: INDEX",
            "pl.tensor.row_sum(pl.tensor.slice(pl.tensor.exp(a), [8, 16], [8, 16], [8, n]))",
            "[8, 1] FP32",
        ),
        Sample(
            "a: [16, 32] FP32",
            "pl.tensor.fillpad(pl.tensor.slice(a, [8, 16], [0, 0], [8, 5], pad_value=pl.PadValue.max), pad_value=pl.PadValue.max)",
            "[8, 16] FP32",
        ),
        Sample(
            "a: [16, 32] FP32, n: INDEX",
            "pl.tensor.fillpad(pl.tensor.row_sum(pl.tensor.slice(a, [16, 32], [n, 0], clamp=True)))",
            "[16, 1] FP32",
        ),
    ],
    "tensor.assemble": [
        Sample("a: [4, 32] FP32, b: [16, 32] FP32", "pl.tensor.assemble(pl.tensor.exp(b), a, [8, 0])", OUT, ("tile.assemble",)),
        Sample(
            "a: [4, 32] FP32, b: [16, 32] FP32, n: INDEX",
            "pl.tensor.assemble(pl.tensor.exp(b), pl.tensor.neg(a), [n, 0])",
            OUT,
            ("tile.assemble",),
        ),
        Sample("a: [4, 32] FP32, b: [16, 32] FP32", "pl.tensor.assemble(b, a, [8, 0])", OUT, ("tile.store",)),
    ],
    "tensor.read": [
        Sample("a: [16, 32] FP32", "pl.tensor.read(a, [3, 4])", "FP32", ("tensor.read",)),
        Sample("a: [16, 32] FP32", "pl.tensor.read(pl.tensor.exp(a), [3, 4])", "FP32", ("tile.read",)),
        Sample("a: [16, 32] FP32", "pl.tensor.adds(a, pl.tensor.read(a, [3, 4]))", OUT, ("tensor.read", "tile.adds")),
    ],
    "tensor.dim": [Sample(ONE, "pl.tensor.dim(a, 1)", "INDEX"), Sample(ONE, "pl.tensor.dim(pl.tensor.exp(a), -1)", "INDEX")],
    "tensor.matmul": [
        Sample("a: [16, 32] FP32, b: [32, 48] FP32", "pl.tensor.matmul(a, b)", "[16, 48] FP32", ("tile.matmul",)),
        Sample("a: [16, 32] FP16, b: [32, 48] FP16", "pl.tensor.matmul(a, b)", "[16, 48] FP16", ("tile.matmul",)),
        Sample(
            "a: [16, 32] BF16, b: [32, 48] BF16", "pl.tensor.matmul(a, b, out_dtype=pl.FP32)", "[16, 48] FP32", ("tile.matmul",)
        ),
        Sample(
            "a: [32, 16] FP32, b: [48, 32] FP32",
            "pl.tensor.matmul(a, b, a_trans=True, b_trans=True)",
            "[16, 48] FP32",
            ("tile.transpose_view",),
        ),
        Sample("a: [16, 32] INT8, b: [32, 48] INT8", "pl.tensor.matmul(a, b)", "[16, 48] INT32", ("tile.matmul",)),
        Sample(
            "a: [16, 32] FP32, b: [32, 48] FP32",
            "pl.tensor.matmul(pl.tensor.exp(a), b)",
            "[16, 48] FP32",
            ("tile.move", "tile.matmul"),
        ),
        Sample("a: [4, 16, 32] FP32, b: [4, 32, 48] FP32", "pl.tensor.matmul(a, b)", "[4, 16, 48] FP32", ("tile.batch_matmul",)),
        Sample("a: [4, 16, 32] FP32, b: [32, 48] FP32", "pl.tensor.matmul(a, b)", "[4, 16, 48] FP32", ("tile.batch_matmul",)),
        Sample(
            "a: [64, 32] FP32, b: [32, 48] FP32",
            "pl.tensor.matmul(pl.tensor.slice(a, [16, 32], [16, 0]), b)",
            "[16, 48] FP32",
            ("tile.matmul",),
        ),
        Sample("a: [16, 32] FP16, b: [32, 48] FP32", "pl.tensor.matmul(a, b)", "[16, 48] FP32", ("tile.cast", "tile.matmul")),
        Sample(
            "a: [16, 32] FP32, b: [32, 48] FP32, c: [48, 16] FP32",
            "pl.tensor.matmul(pl.tensor.matmul(a, b), c)",
            "[16, 16] FP32",
            ("tile.matmul",),
        ),
        Sample(
            "a: [16, 32] FP32, b: [32, 48] FP32", "pl.tensor.adds(pl.tensor.matmul(a, b), 1.0)", "[16, 48] FP32", ("tile.matmul",)
        ),
    ],
    "tensor.matmul_acc": [
        Sample(
            "c: [16, 48] FP32, a: [16, 32] FP16, b: [32, 48] FP16",
            "pl.tensor.matmul_acc(pl.tensor.matmul(a, b, out_dtype=pl.FP32), a, b)",
            "[16, 48] FP32",
            ("tile.matmul_acc",),
        ),
        Sample(
            "c: [16, 48] FP32, a: [16, 32] FP16, b: [48, 32] FP16",
            "pl.tensor.matmul_acc(pl.tensor.matmul(a, b, out_dtype=pl.FP32, b_trans=True), a, b, b_trans=True)",
            "[16, 48] FP32",
            ("tile.matmul_acc",),
        ),
        Sample("c: [16, 48] FP32, a: [16, 32] FP16, b: [32, 48] FP16", "pl.tensor.matmul_acc(c, a, b)", "[16, 48] FP32"),
        Sample(
            "a: [4, 16, 32] FP16, b: [4, 32, 48] FP16",
            "pl.tensor.matmul_acc(pl.tensor.matmul(a, b, out_dtype=pl.FP32), a, b)",
            "[4, 16, 48] FP32",
            ("tile.batch_matmul_acc",),
        ),
        Sample(
            "a: [16, 32] FP16, b: [32, 48] FP16, n: INDEX",
            "pl.tensor.matmul_acc(pl.tensor.matmul(a, b, out_dtype=pl.FP32), a, b, init_cond=n == 0)",
            "[16, 48] FP32",
            ("tile.matmul_acc",),
        ),
        Sample(
            "a: [16, 32] FP16, b: [32, 48] FP16",
            "pl.tensor.matmul_acc(pl.tensor.create([16, 48], dtype=pl.FP32), a, b, init_cond=True)",
            "[16, 48] FP32",
            ("tile.matmul",),
        ),
    ],
    "tensor.gather": [
        Sample("a: [16, 32] FP32, b: [16, 8] INT32", "pl.tensor.gather(a, dim=1, index=b)", "[16, 8] FP32", ("tile.gather",)),
        Sample("a: [16, 32] FP32, b: [4, 32] INT32", "pl.tensor.gather(a, dim=0, index=b)", "[4, 32] FP32", ("tile.gather",)),
    ],
    "tensor.gather_mask": [
        Sample("a: [16, 32] FP32", "pl.tensor.gather_mask(a, mask_pattern=1)", "[16, 16] FP32", ("tile.gather_mask",)),
        Sample(
            "a: [16, 32] FP32",
            "pl.tensor.gather_mask(a, mask_pattern=2, output_dtype=pl.INT32)",
            "[16, 16] INT32",
            ("tile.gather_mask",),
        ),
    ],
    "tensor.scatter_update": [
        Sample(
            "a: [16, 32] FP32, b: [2, 4] INT32, c: [8, 32] FP32",
            "pl.tensor.scatter_update(pl.tensor.exp(a), dim=-2, index=b, src=c)",
            OUT,
            ("tile.scatter_update",),
        ),
        Sample("a: [16, 32] FP32, b: [2, 4] INT32, c: [8, 32] FP32", "pl.tensor.scatter_update(a, dim=-2, index=b, src=c)", OUT),
    ],
    "tensor.sort32": [
        Sample(
            "a: [4, 64] FP32",
            "pl.tensor.sort32(a, pl.tensor.reinterpret_view(pl.tensor.ci(0, [1, 64], dtype=pl.UINT32), dtype=pl.UINT32))",
            "[4, 128] FP32",
            ("tile.sort32",),
        ),
    ],
    "tensor.mrgsort_format1": [
        Sample("a: [4, 256] FP32", "pl.tensor.mrgsort_format1(a, block_len=64)", "[4, 256] FP32", ("tile.mrgsort_format1",))
    ],
    **{
        f"tensor.{leaf}": [Sample("n: INDEX", f"n + pl.tensor.{leaf}()", "INDEX", (f"tile.{leaf}",))]
        for leaf in ("get_block_idx", "get_subblock_idx", "get_block_num")
    },
}
CASES = [(name, at) for name in sorted(SAMPLES) for at in range(len(SAMPLES[name]))]


REFUSED = {
    "tensor.scatter": Sample(
        "a: [16, 32] FP32, b: [16, 8] INT32, c: [16, 8] FP32", "pl.tensor.scatter(a, dim=1, index=b, src=c)", OUT
    ),
    "tensor.gather": Sample("a: [4, 16, 32] FP32, b: [4, 16, 8] INT32", "pl.tensor.gather(a, dim=2, index=b)", "[4, 16, 8] FP32"),
}
"""Operators without tile operators that mean the same, or calls of them."""

ELSEWHERE = {"tensor.write", "tensor.alloc"}
"""Operators that give no tensor; tests of their own are below."""


@pytest.mark.parametrize(("name", "at"), CASES)
def test_conversion_keeps_the_meaning(name: str, at: int) -> None:
    sample = SAMPLES[name][at]
    before = prepare(program_of(sample))
    assert name in ops_of(before["k"])
    after = passes.convert_tensor_to_tile_ops()(before)
    found = ops_of(after["k"])
    assert all(word in found for word in sample.expected), found
    assert_roundtrip(after)
    assert not verify(
        after, ["IncoreTileOps", "SSAForm", "NormalizedStmtStructure", "NoNestedCalls", "TypeChecked", "UseAfterDef"]
    )
    assert_same_meaning(before, after)
    assert passes.convert_tensor_to_tile_ops()(after) is after


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_has_no_conversion_is_named(name: str) -> None:
    with pytest.raises(InvalidValueError, match=f"no registered tile conversion for '{name}'") as caught:
        passes.convert_tensor_to_tile_ops()(prepare(program_of(REFUSED[name])))
    assert caught.value.span["line"] == 6


def test_every_tensor_operator_is_accounted_for() -> None:
    declared = {d.name for d in declared_ops() if d.name.startswith("tensor.")}
    assert declared == {*SAMPLES, *REFUSED, *ELSEWHERE}


def test_elements_are_written_where_the_value_lives() -> None:
    text = program_of(Sample(ONE, "t", OUT, (), "t = pl.tensor.exp(a); pl.tensor.write(t, [1, 2], 5.0)"))
    before = prepare(text)
    after = passes.convert_tensor_to_tile_ops()(before)
    assert "tile.write" in ops_of(after["k"])
    assert "tensor.write" not in ops_of(after["k"])
    assert_roundtrip(after)
    assert_same_meaning(before, after)
