"""Functions, programs, calls between them, helpers, and what surrounds a body."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from pypto import ir
from pypto.ir import DataType, FunctionType, Level, Role
from pypto.ir.expr import Call, Submit
from pypto.ir.op import GlobalVar
from pypto.ir.stmt import AssignStmt, EvalStmt, InlineStmt, SeqStmts
from pypto.parser import DynVar, InlineFunction, SourceFile, parse, parse_function, parse_inline, parse_program
from pypto.parser.errors import ParserSyntaxError, ParserTypeError, UndefinedVariableError

from .support import assert_reads_back, statements

TWO = """
M = pl.dynamic("M")
@pl.program
class P:
    @pl.function
    def top(self, p: pl.Tensor[[16, 8], pl.FP32], q: pl.Tensor[[16, 8], pl.FP32]):
        r = self.same(p, q)
        a, n = self.both(p)
        self.same(p, q)
        return r
    @pl.function
    def same(self, a: pl.Tensor[[M, 8], pl.FP32], b: pl.Tensor[[M, 8], pl.FP32]) -> pl.Tensor[[M, 8], pl.FP32]:
        return pl.add(a, b)
    @pl.function
    def both(self, a: pl.Tensor[[M, 8], pl.FP32]) -> tuple[pl.Tensor[[8, M], pl.FP32], pl.Scalar[pl.INDEX]]:
        return pl.transpose(a, 0, 1), pl.tensor.dim(a, 0)
"""


def read(text: str, closure: dict[str, Any], **options: Any) -> Any:
    """The first function of a file, with the Python names around it."""
    source = SourceFile("kernels.py", text)
    node = next(n for n in ast.walk(source.tree) if isinstance(n, ast.FunctionDef))
    return parse_function(source, node, closure, **options)


class TestPrograms:
    """Classes of functions."""

    def test_results_have_the_shapes_of_the_arguments(self) -> None:
        top = parse(TWO)["top"]
        result, whole, first, second, plain, _ = statements(top)
        assert result.var.type == ir.TensorType([16, 8], DataType.FP32)
        assert first.var.type == ir.TensorType([8, 16], DataType.FP32)
        assert second.var.type is ir.ScalarType(DataType.INDEX)
        assert isinstance(whole.value, Call) and isinstance(whole.value.op, GlobalVar)
        assert isinstance(plain, EvalStmt)

    def test_the_whole_program_reads_back(self) -> None:
        assert_reads_back(parse(TWO))

    def test_results_without_annotation_are_those_of_the_first_return(self) -> None:
        program = parse(
            "@pl.program\nclass P:\n"
            "    @pl.function(type=pl.FunctionType.InCore)\n"
            "    def k(self, x: pl.Tensor[[4, 4], pl.FP32], o: pl.Out[pl.Tensor[[4, 4], pl.FP32]]):\n"
            "        o = pl.store(pl.load(x, [0, 0], [4, 4]), [0, 0], o)\n        return o\n"
            "    @pl.function\n"
            "    def top(self, x: pl.Tensor[[4, 4], pl.FP32], o: pl.Out[pl.Tensor[[4, 4], pl.FP32]]):\n"
            "        o = self.k(x, o)\n        return o\n"
        )
        call = statements(program["top"])[0].value
        assert call.type == ir.TensorType([4, 4], DataType.FP32)
        assert program["k"].params[0].name_hint == "x"

    def test_metadata_of_calls(self) -> None:
        program = parse(
            "@pl.program\nclass P:\n"
            "    @pl.function(type=pl.FunctionType.Orchestration)\n"
            "    def k(self, x: pl.Tensor[[4], pl.FP32], y: pl.Tensor[[4], pl.FP32]):\n        pass\n"
            "    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)\n"
            "    def top(self, x: pl.Tensor[[4], pl.FP32]):\n"
            "        for d in pl.range(2):\n"
            "            self.k(x, pl.no_dep(x), device=d, attrs={'dump_vars': [x]})\n"
        )
        loop = statements(program["top"])[0]
        call = loop.body.expr
        assert call.attrs["device"] is loop.loop_var
        assert call.attrs["arg_direction_overrides"] == [1]
        assert call.attrs["dump_vars"] == [program["top"].params[0]]

    def test_other_members_of_the_class_are_left_alone(self) -> None:
        program = parse(
            '@pl.program\nclass P:\n    """Doc."""\n    SIZE = 3\n    def plain(self):\n        raise ValueError\n'
            "    @pl.function\n    def f(self, n: pl.Scalar[pl.INDEX]):\n        return n\n"
        )
        assert [f.name for f in program.functions.values()] == ["f"]

    def test_workers_of_the_host_are_kept_as_text(self) -> None:
        program = parse(
            "@pl.program\nclass P:\n"
            "    @pl.function(level=pl.Level.HOST, role=pl.Role.SubWorker)\n"
            "    def work(x: pl.Tensor[[4], pl.FP32]):\n        for v in range(3):\n            print(v)\n"
            "    @pl.function(level=pl.Level.HOST, role=pl.Role.SubWorker)\n"
            "    def abstract(x: pl.Tensor[[4], pl.FP32]): ...\n"
        )
        body = program["work"].body
        assert isinstance(body, InlineStmt) and body.body == "for v in range(3):\n    print(v)"
        assert program["abstract"].requires_runtime_binding and isinstance(program["abstract"].body, SeqStmts)

    def test_tasks(self) -> None:
        program = parse(
            "@pl.program\nclass P:\n"
            "    @pl.function(type=pl.FunctionType.InCore)\n"
            "    def k(self, x: pl.Tensor[[4], pl.FP32]) -> pl.Tensor[[4], pl.FP32]:\n        return x\n"
            "    @pl.function(type=pl.FunctionType.Orchestration)\n"
            "    def top(self, x: pl.Tensor[[4], pl.FP32]):\n"
            "        with pl.manual_scope():\n"
            "            y, t0 = pl.submit(self.k, x)\n"
            "            z, t1 = pl.spmd_submit(self.k, y, deps=[t0], core_num=4, sync_start=True)\n"
            "        return z\n"
        )
        scope, _ = statements(program["top"])
        first, _, _, second, *_ = scope.body.stmts
        assert isinstance(first.value, Submit) and len(first.value.type.types) == 2
        assert second.value.deps[0] is scope.body.stmts[2].var
        assert second.value.core_num.value == 4 and second.value.sync_start


class TestOptions:
    """Decorators and function attributes."""

    def test_from_the_text(self) -> None:
        function = parse(
            "@pl.function(type=pl.FunctionType.InCore, auto_scope=False, attrs={'a': 1})\n"
            "def f(self, n: pl.Scalar[pl.INDEX]):\n"
            '    """Doc."""\n'
            "    pl.func_attr({'split': pl.SplitMode.UP_DOWN, 'b': [1, 2]})\n"
            "    pl.func_attr({'c': n})\n"
            "    return n\n"
        )
        assert (function.func_type, function.level, function.role) == (FunctionType.InCore, Level.CHIP_DIE, Role.SubWorker)
        assert function.attrs == {"auto_scope": False, "a": 1, "split": 1, "b": [1, 2], "c": function.params[0]}
        assert function.split is ir.SplitMode.UP_DOWN
        assert [p.name_hint for p in function.params] == ["n"]

    def test_a_split_of_none_says_nothing(self) -> None:
        text = "@pl.function\ndef f(n: pl.Scalar[pl.INDEX]):\n    pl.func_attr({'split': pl.SplitMode.NONE})\n"
        assert parse(text).attrs == {}

    def test_given_by_a_decorator(self) -> None:
        function = read(
            "def f(n): pass\n".replace("n", "n: pl.Scalar[pl.INDEX]"),
            {},
            type=FunctionType.AIV,
            attrs={"split": ir.SplitMode.LEFT_RIGHT, "x": 3},
            auto_scope=False,
        )
        assert function.func_type is FunctionType.AIV
        assert function.attrs == {"auto_scope": False, "split": 2, "x": 3}

    def test_an_external_kernel(self) -> None:
        text = "@pl.function(type=pl.FunctionType.AIV, external_source='k.cpp')\ndef f(n: pl.Scalar[pl.INDEX]): ...\n"
        assert parse(text).attrs == {"external_source": "k.cpp"}


class TestClosures:
    """Python values around a decorated function."""

    def test_kinds_of_values(self) -> None:
        class Config:
            tile = 8
            sizes = (2, 3)

        dim = DynVar("D")
        text = (
            "def f(x: pl.Tensor[[D, cfg.tile], pl.FP32], n: pl.Scalar[pl.INDEX]):\n"
            "    a = n + cfg.tile\n"
            "    b = pl.slice(x, [cfg.sizes[0], max(cfg.tile, 4)], OFFSETS)\n"
            "    c = n + D\n"
            "    d = pl.cast(n, KIND)\n"
            "    e = n * len(OFFSETS)\n"
            "    return a\n"
        )
        function = read(text, {"cfg": Config(), "D": dim, "OFFSETS": [0, 0], "KIND": DataType.FP16})
        a, b, c, d, *_ = statements(function)
        assert a.value.right.value == 8
        assert [e.value for e in b.value.args[1].elements] == [2, 8]
        assert c.value.right is dim.expr is function.params[0].type.shape[0]
        assert d.value.type.dtype is DataType.FP16

    def test_a_name_of_the_body_comes_first(self) -> None:
        function = read("def f(n: pl.Scalar[pl.INDEX]):\n    return n\n", {"n": 3})
        assert statements(function)[0].value[0] is function.params[0]

    def test_values_that_no_kernel_can_use(self) -> None:
        with pytest.raises(ParserTypeError, match="'words' is a dict") as caught:
            read("def f(n: pl.Scalar[pl.INDEX]):\n    return words\n", {"words": {}})
        assert (caught.value.span["line"], caught.value.span["column"]) == (2, 12)

    def test_another_prefix(self) -> None:
        import pypto.language

        function = read("def f(n: dsl.Scalar[dsl.INDEX]):\n    return dsl.min(n, 2)\n", {"dsl": pypto.language})
        assert isinstance(statements(function)[0].value[0], ir.Min)

    def test_functions_from_outside_join_the_program(self) -> None:
        helper = parse("@pl.function\ndef helper(n: pl.Scalar[pl.INDEX]) -> pl.Scalar[pl.INDEX]:\n    return n\n")
        source = SourceFile(
            "p.py", "class P:\n    @pl.function\n    def f(self, n: pl.Scalar[pl.INDEX]):\n        return helper(n)\n"
        )
        program = parse_program(source, source.tree.body[0], {"helper": helper})  # type: ignore[arg-type]
        assert program["helper"] is helper
        text = "class P:\n    @pl.function\n    def helper(self, n: pl.Scalar[pl.INDEX]):\n        return helper(n)\n"
        clash = SourceFile("p.py", text)
        with pytest.raises(ParserSyntaxError, match="has the name"):
            parse_program(clash, clash.tree.body[0], {"helper": helper})  # type: ignore[arg-type]


class TestInline:
    """Helpers that are spliced in."""

    TEXT = (
        'T = pl.dynamic("T")\n'
        "@pl.inline\n"
        "def bump(x: pl.Tensor[[T, 8], pl.FP32], k: pl.Scalar[pl.INDEX]):\n"
        '    """Doc."""\n'
        "    y = pl.create_tensor([T, 8], dtype=pl.FP32)\n"
        "    k = k + 1\n"
        "    return pl.add(x, y), k\n"
        "@pl.function\n"
        "def top(a: pl.Tensor[[T, 8], pl.FP32], k: pl.Scalar[pl.INDEX]):\n"
        "    y = k\n"
        "    b, c = bump(a, k)\n"
        "    return y\n"
    )

    def test_names_are_its_own_and_dimensions_are_shared(self) -> None:
        function = parse(self.TEXT)
        y, own_k, created, changed, *_, end = statements(function)
        assert end.value[0] is y.var
        assert created.var.name_hint == "y" and created.var is not y.var
        assert own_k.var is changed.var and own_k.var is not function.params[1]
        assert own_k.value is function.params[1]
        assert created.value.args[0].elements[0] is function.params[0].type.shape[0]
        assert_reads_back(function)

    def test_as_an_object(self) -> None:
        source = SourceFile("h.py", "@pl.inline\ndef h(a: pl.Scalar[pl.INDEX], b: pl.Scalar[pl.INDEX]):\n    return a\n")
        helper = parse_inline(source, source.tree.body[0], {"N": 3})  # type: ignore[arg-type]
        assert isinstance(helper, InlineFunction)
        assert (helper.name, helper.param_names, helper.source_file) == ("h", ["a", "b"], "h.py")
        with pytest.raises(ParserTypeError, match="h takes 2 arguments, got 1"):
            read("def f(n: pl.Scalar[pl.INDEX]):\n    return h(n)\n", {"h": helper})

    def test_errors_inside_name_the_helper(self) -> None:
        source = SourceFile("h.py", "@pl.inline\ndef h(a: pl.Scalar[pl.INDEX]):\n    return a + nothing\n")
        helper = parse_inline(source, source.tree.body[0], {})  # type: ignore[arg-type]
        with pytest.raises(UndefinedVariableError) as caught:
            read("def f(n: pl.Scalar[pl.INDEX]):\n    return h(n)\n", {"h": helper})
        assert (caught.value.span["filename"], caught.value.span["line"]) == ("h.py", 3)

    def test_recursion_is_refused(self) -> None:
        text = (
            "@pl.inline\ndef h(a: pl.Scalar[pl.INDEX]):\n    return h(a)\n"
            "@pl.function\ndef f(a: pl.Scalar[pl.INDEX]):\n    return h(a)\n"
        )
        with pytest.raises(ParserSyntaxError, match="calls itself"):
            parse(text)


class TestScopes:
    """``with`` blocks."""

    HEAD = "@pl.function\ndef f(x: pl.Tensor[[8, 8], pl.FP32], n: pl.Scalar[pl.INDEX]):\n"

    def scope(self, *lines: str) -> Any:
        function = parse(self.HEAD + "".join(f"    {line}\n" for line in lines))
        assert_reads_back(function)
        return statements(function)[0]

    def test_kernel_region(self) -> None:
        made = self.scope(
            "with pl.at(level=pl.Level.CORE_GROUP, name_hint='k', no_dep_args=[x], windowize=True,",
            "           optimizations=[pl.split(pl.SplitMode.UP_DOWN), pl.cross_core_slot(slot_num=2)]):",
            "    y = n",
        )
        assert isinstance(made, ir.InCoreScopeStmt)
        assert (made.split, made.name_hint) == (ir.SplitMode.UP_DOWN, "k")
        assert [*made.attrs] == ["arg_direction_overrides_vars", "slot_num", "windowize"]

    def test_region_at_a_level(self) -> None:
        made = self.scope("with pl.at(pl.Level.CHIP, pl.Role.Orchestrator):", "    y = n")
        assert isinstance(made, ir.HierarchyScopeStmt)
        assert (made.level, made.role) == (Level.CHIP, Role.Orchestrator)

    def test_runtime_regions(self) -> None:
        assert not self.scope("with pl.scope():", "    y = n").manual
        assert self.scope("with pl.scope(mode=pl.ScopeMode.MANUAL):", "    y = n").manual
        assert self.scope("with pl.manual_scope():", "    y = n").manual
        assert isinstance(self.scope("with pl.cluster(name_hint='c'):", "    y = n"), ir.ClusterScopeStmt)

    def test_spmd_loop(self) -> None:
        made = self.scope("for i in pl.spmd(4, name_hint='k'):", "    y = i + n")
        assert isinstance(made, ir.SpmdScopeStmt) and made.name_hint == "k_spmd"
        assert made.body.name_hint == "k"
        assert made.body.body[0].value.op.name == "tile.get_block_idx"

    def test_spmd_block(self) -> None:
        made = self.scope("with pl.spmd(n, sync_start=True):", "    i = pl.tile.get_block_idx()", "    y = i + n")
        assert made.sync_start and isinstance(made.body, ir.InCoreScopeStmt)

    def test_split_loop(self) -> None:
        made = self.scope("for lane in pl.split_aiv(2, mode=pl.SplitMode.UP_DOWN):", "    y = lane + n")
        assert isinstance(made, ir.InCoreScopeStmt) and isinstance(made.body, ir.SplitAivScopeStmt)

    def test_names_stay_visible(self) -> None:
        function = parse(self.HEAD + "    with pl.scope():\n        y = n\n    return y\n")
        scope, end = statements(function)
        assert end.value[0] is scope.body.var
        assert isinstance(scope.body, AssignStmt)


def test_constants_of_a_text_may_build_on_each_other() -> None:
    function = parse("A = 4\nB = [A, A * 2]\n@pl.function\ndef f(n: pl.Scalar[pl.INDEX]):\n    y = n + B[1]\n    return y\n")
    assert statements(function)[0].value.right.value == 8
