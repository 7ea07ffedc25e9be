"""Control flow and names: which variables are one, what stays visible, what loops and branches hand on."""

from __future__ import annotations

import pytest

from pypto import ir
from pypto.ir import DataType, ForKind
from pypto.ir.expr import Cast, ConstInt
from pypto.ir.stmt import AssignStmt, ForStmt, IfStmt, ReturnStmt, SeqStmts, WhileStmt, YieldStmt
from pypto.parser import parse
from pypto.parser.errors import ParserError

from .support import SIGNATURE, assert_reads_back, kernel, statements


class TestNames:
    """Assignment and rebinding."""

    def test_a_second_assignment_keeps_the_variable(self) -> None:
        first, second, _ = statements(kernel("y = n\ny = y + 1\nreturn y"))
        assert first.var is second.var

    def test_a_parameter_can_be_assigned(self) -> None:
        function = kernel("n = n + 1\nreturn n")
        assert statements(function)[0].var is function.params[1]

    def test_a_variable_left_over_from_a_loop_may_change_its_type(self) -> None:
        body = (
            "for i in pl.range(4):\n    part = x[0:2, :]\n    off = i\n"
            "for j in pl.range(4):\n    part = x[0:4, :]\n    off = j\nreturn n"
        )
        first, second, _ = statements(kernel(body))
        assert first.body[0].var is not second.body[0].var
        assert first.body[1].var is second.body[1].var

    def test_an_index_value_takes_the_type_of_its_integer_variable(self) -> None:
        body = "s: pl.Scalar[pl.INT32] = 0\nfor i in pl.range(4):\n    s = s + 1\ns = 7\nreturn n"
        start, loop, last, _ = statements(kernel(body))
        assert loop.body.var is start.var and isinstance(loop.body.value, Cast)
        ir.assert_structural_equal(last.value, ConstInt(7, DataType.INT32))

    def test_strict_ssa_accepts_single_assignments(self) -> None:
        signature = "@pl.function(strict_ssa=True)\n" + SIGNATURE.split("\n", 1)[1]
        kernel("y = n\nz = y + 1\nfor i, (a,) in pl.range(3, init_values=(z,)):\n    r = pl.yield_(a + i)\nreturn r", signature)

    def test_the_underscore_is_an_ordinary_name(self) -> None:
        assert statements(kernel("_ = n + 1\nreturn n"))[0].var.name_hint == "_"

    def test_numeric_suffixes_are_plain_names(self) -> None:
        function = kernel("x_0 = n\nx_1 = x_0 + n\nreturn x_1")
        assert [s.var.name_hint for s in statements(function)[:2]] == ["x_0", "x_1"]


class TestAnnotations:
    """``x: T = value``."""

    def test_literals_take_the_annotated_type(self) -> None:
        body = "a: pl.Scalar[pl.INT64] = 0\nc: pl.Scalar[pl.INT8] = -3\nd: pl.Scalar[pl.FP16] = 0.5\ne: pl.Scalar[pl.FP32] = 1"
        values = [s.value for s in statements(kernel(body))]
        assert [(v.value, v.dtype.name) for v in values] == [(0, "INT64"), (-3, "INT8"), (0.5, "FP16"), (1.0, "FP32")]

    @pytest.mark.parametrize("value", ["n", "n + 1", "n * n"])
    def test_an_index_expression_is_cast(self, value: str) -> None:
        stmt = statements(kernel(f"y: pl.Scalar[pl.INT32] = {value}"))[0]
        assert isinstance(stmt.value, Cast)
        assert stmt.var.type is stmt.value.type is ir.ScalarType(DataType.INT32)

    def test_variable_and_value_have_one_type(self) -> None:
        body = (
            "t: pl.Tile[[8, 8], pl.FP32, pl.TileView(valid_shape=[4, n])] = pl.load(x, [0, 0], [8, 8])\n"
            "u: pl.Tile[[8, 8], pl.FP32] = pl.add(t, t)\n"
            "v: pl.Tensor[[8, 8], pl.FP32, pl.NZ] = pl.add(x, x)\n"
            "w: pl.Ptr = pl.add(x, x)\n"
            "y: 'anything' = n\n"
        )
        for stmt in statements(kernel(body)):
            assert stmt.var.type is stmt.value.type
        tile = statements(kernel(body))[0].var.type
        assert tile.memory_space is ir.MemorySpace.Vec and tile.tile_view.valid_shape[0].value == 4

    def test_views_are_completed_by_the_memory_space_of_the_value(self) -> None:
        body = (
            "t: pl.Tile[[8, 8], pl.FP32, pl.TileView(valid_shape=[4, 8])] = pl.load(x, [0, 0], [8, 8], target_memory=pl.Mem.Mat)"
        )
        view = statements(kernel(body))[0].var.type.tile_view
        assert (view.blayout, view.slayout) == (ir.TileLayout.col_major, ir.TileLayout.row_major)

    def test_an_unknown_result_takes_the_annotation(self) -> None:
        program = parse(
            "@pl.program\nclass P:\n"
            "    @pl.function\n    def f(self, n: pl.Scalar[pl.INDEX]):\n        y: pl.Scalar[pl.FP32] = self.g(n)\n        return y\n"
            "    @pl.function\n    def g(self, n: pl.Scalar[pl.INDEX]):\n        return pl.cast(n, pl.FP32)\n"
        )
        stmt = statements(program["f"])[0]
        assert stmt.var.type is stmt.value.type is ir.ScalarType(DataType.FP32)


class TestLoops:
    """``for`` and ``while``."""

    @pytest.mark.parametrize(
        ("head", "kind", "bounds"),
        [
            ("pl.range(4)", ForKind.Sequential, (0, 4, 1)),
            ("pl.range(2, 4)", ForKind.Sequential, (2, 4, 1)),
            ("pl.range(9, -1, -3)", ForKind.Sequential, (9, -1, -3)),
            ("pl.range(5, 2)", ForKind.Sequential, (5, 2, 1)),
            ("pl.parallel(4)", ForKind.Parallel, (0, 4, 1)),
            ("pl.unroll(3, 0, -1)", ForKind.Unroll, (3, 0, -1)),
            ("pl.pipeline(0, 8, 2, stage=3)", ForKind.Pipeline, (0, 8, 2)),
        ],
    )
    def test_iterators(self, head: str, kind: ForKind, bounds: tuple[int, ...]) -> None:
        loop = statements(kernel(f"for i in {head}:\n    y = i"))[0]
        assert isinstance(loop, ForStmt) and loop.kind is kind
        assert (loop.start.value, loop.stop.value, loop.step.value) == bounds
        assert loop.attrs == ({"pipeline_stages": 3} if kind is ForKind.Pipeline else {})

    @pytest.mark.parametrize(
        ("bounds", "dtype"),
        [
            ("n", "INDEX"),
            ("k", "INT32"),
            ("0, k, 2", "INT32"),
            ("pl.const(0, pl.INT32), k, pl.const(2, pl.INT32)", "INT32"),
            ("pl.const(0, pl.INT64), 4", "INT64"),
            ("k, m", "INT64"),
            ("4, dtype=pl.INT16", "INT16"),
        ],
    )
    def test_the_loop_variable_has_the_type_of_its_bounds(self, bounds: str, dtype: str) -> None:
        head = "@pl.function\ndef f(n: pl.Scalar[pl.INDEX], k: pl.Scalar[pl.INT32], m: pl.Scalar[pl.INT64]):\n"
        function = kernel(f"for i in pl.range({bounds}):\n    y = i", head)
        assert statements(function)[0].loop_var.type.dtype.name == dtype
        assert_reads_back(function)

    def test_carried_values(self) -> None:
        body = "for i, (a, c) in pl.range(4, init_values=(n, x)):\n    d, e = pl.yield_(a + i, c)\nreturn d"
        loop, end = statements(kernel(body))
        assert [arg.name_hint for arg in loop.iter_args] == ["a", "c"]
        assert [v.name_hint for v in loop.return_vars] == ["d", "e"]
        assert isinstance(loop.body, YieldStmt) and loop.body.value[1] is loop.iter_args[1]
        assert end.value[0] is loop.return_vars[0]
        assert loop.return_vars[1].type is loop.iter_args[1].type

    def test_a_carried_value_updates_the_variable_of_an_outer_loop(self) -> None:
        body = "s = n\nfor i in pl.range(2):\n    for j, (a,) in pl.range(2, init_values=(s,)):\n        s = pl.yield_(a + j)\nreturn s"
        start, outer, end = statements(kernel(body))
        assert outer.body.return_vars[0] is start.var is end.value[0]

    def test_a_plain_loop_leaves_its_names(self) -> None:
        body = "for i in pl.range(4):\n    y = i\nreturn y"
        loop, end = statements(kernel(body))
        assert end.value[0] is loop.body.var

    def test_while(self) -> None:
        body = "k = 0\nwhile k < n:\n    k = k + 1\n    if k == 3:\n        break\n    if b:\n        continue\nreturn k"
        _, loop, _ = statements(kernel(body))
        assert isinstance(loop, WhileStmt) and not loop.iter_args

    def test_while_with_carried_values(self) -> None:
        body = "for (a, c) in pl.while_(init_values=(n, 0)):\n    pl.cond(c < a)\n    d, e = pl.yield_(a, c + 1)\nreturn d"
        loop, _ = statements(kernel(body))
        assert isinstance(loop, WhileStmt)
        assert loop.condition.left is loop.iter_args[1]
        assert [v.name_hint for v in loop.return_vars] == ["d", "e"]

    def test_attributes(self) -> None:
        loop = statements(kernel('for i in pl.range(4, attrs={"a": 1, "b": "t", "c": 0.5}):\n    pass'))[0]
        assert loop.attrs == {"a": 1, "b": "t", "c": 0.5}
        assert isinstance(loop.body, SeqStmts) and not loop.body.stmts


class TestBranches:
    """``if``, ``elif``, ``else``."""

    def test_both_branches_leave_one_variable(self) -> None:
        branch, end = statements(kernel("if b:\n    y = 1\nelse:\n    y = 2\nreturn y"))
        assert branch.then_body.var is branch.else_body.var is end.value[0]

    def test_a_branch_that_leaves_the_loop_does_not_count(self) -> None:
        body = "for i in pl.range(4):\n    if b:\n        continue\n    else:\n        w = i\n    n = n + w\nreturn n"
        assert isinstance(statements(kernel(body))[0], ForStmt)

    def test_temporaries_of_the_branches_may_differ(self) -> None:
        branch, _ = statements(kernel("if b:\n    t = x[0:2, :]\nelse:\n    t = x[0:4, :]\nreturn n"))
        assert branch.then_body.var is not branch.else_body.var

    def test_values(self) -> None:
        branch, end = statements(kernel("if b:\n    r = pl.yield_(n)\nelse:\n    r = pl.yield_(3)\nreturn r"))
        assert isinstance(branch, IfStmt) and branch.return_vars[0] is end.value[0]
        assert isinstance(branch.then_body, YieldStmt)

    def test_several_values(self) -> None:
        body = "if b:\n    r, s = pl.yield_(n, x)\nelse:\n    r, s = pl.yield_(3, x)\nreturn s"
        branch, end = statements(kernel(body))
        assert end.value[0] is branch.return_vars[1]

    def test_a_yield_through_a_runtime_scope_is_that_of_the_branch(self) -> None:
        body = "if b:\n    with pl.manual_scope():\n        r = pl.yield_(n)\nelse:\n    r = pl.yield_(3)\nreturn r"
        assert statements(kernel(body))[0].return_vars[0].name_hint == "r"

    def test_elif_is_a_branch_in_the_else(self) -> None:
        branch = statements(kernel("if b:\n    y = 1\nelif n > 3:\n    y = 2\nelse:\n    y = 3\nreturn y"))[0]
        assert isinstance(branch.else_body, IfStmt)
        assert branch.else_body.else_body.var is branch.then_body.var


def test_return_forms() -> None:
    assert statements(kernel("return"))[0].value == []
    assert len(statements(kernel("return n, x, b"))[0].value) == 3
    assert isinstance(kernel("return n").body, ReturnStmt)


def test_every_assignment_reads_back() -> None:
    body = (
        "y = n * 2 + 1\nt = pl.load(x, [0, 0], [8, 8])\nu = pl.exp(pl.add(t, t))\nz: pl.Scalar[pl.INT32] = n\n"
        "if b:\n    y = y + 1\n    for i in pl.range(y):\n        y = i\nelse:\n    pass\n"
        "for i, (a,) in pl.range(4, init_values=(y,)):\n    while a < i:\n        a = a + 1\n    r = pl.yield_(a)\nreturn r"
    )
    assert_reads_back(kernel(body))


def test_static_statements(capsys: pytest.CaptureFixture[str]) -> None:
    body = 'pl.static_print("size", n, 42, f"x is {x}")\npl.static_assert(N > 3, "large")\ny = n'
    function = kernel(body, "N = 4\n" + SIGNATURE)
    assert isinstance(function.body, AssignStmt)
    line = capsys.readouterr().out
    assert line.startswith(
        "static_print [<string>:4]: size n: pl.Scalar[pl.INDEX] 42: pl.Scalar[pl.INDEX] x is x: pl.Tensor[[8, 8], pl.FP32]"
    )


@pytest.mark.parametrize("depth", [60, 90])
def test_deep_nesting(depth: int) -> None:
    lines = ["y = n"]
    lines += ["    " * at + f"if n > {at}:" for at in range(depth)]
    lines += ["    " * depth + "y = n + 1", "return y"]
    function = kernel("\n".join(lines))
    inner, count = statements(function)[1], 0
    while isinstance(inner, IfStmt):
        inner, count = inner.then_body, count + 1
    assert count == depth


@pytest.mark.parametrize(
    "expression",
    [
        "(" * 2000 + "n" + ")" * 2000,
        "-" * 20000 + "n",
        "not " * 5000 + "b",
        "n" + "[0]" * 3000,
        "n ** " * 3000 + "n",
        "n" * 100000,
    ],
)
def test_what_is_too_deep_is_refused_with_a_place(expression: str) -> None:
    with pytest.raises(ParserError) as caught:
        kernel(f"y = {expression}")
    assert caught.value.span["line"] == 3
