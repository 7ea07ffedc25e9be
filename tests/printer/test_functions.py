"""Functions and programs: header, decorators, order, blank lines."""

from __future__ import annotations

from itertools import pairwise

import pytest

from pypto import ir
from pypto.ir.enums import FunctionType, Level, ParamDirection, Role
from pypto.printer import python_print, register_format_callback

INDEX = ir.ScalarType(ir.INDEX)
T = ir.TensorType([32], ir.FP32)
RETURN = ir.ReturnStmt()


def function(name: str, body: ir.Stmt = RETURN, **options: object) -> ir.Function:
    return ir.Function(name, [], [], body, **options)


def calling(name: str, *callees: str) -> ir.Function:
    stmts = [ir.EvalStmt(ir.Call(ir.GlobalVar(c), [], ir.UnknownType(), ir.Span.unknown())) for c in callees]
    return function(name, ir.SeqStmts([*stmts, ir.ReturnStmt()]))


def test_a_program() -> None:
    m = ir.Var("M", INDEX)
    x, y = ir.Var("x", ir.TensorType([m], ir.FP32)), ir.Var("y", ir.DistributedTensorType([m], ir.FP32))
    scale = ir.Function(
        "scale",
        [x, (y, ParamDirection.Out)],
        [x.type],
        ir.ReturnStmt([x]),
        type=FunctionType.InCore,
        attrs={"split": 1, "n": "q"},
    )
    main = function("main", ir.SeqStmts([]), level=Level.HOST, role=Role.Orchestrator, attrs={"auto_scope": False})
    assert python_print(ir.Program([scale, main], "Demo")) == (
        "# pypto.program: Demo\n"
        "import pypto.language as pl\n"
        "import pypto.language.distributed as pld\n"
        "\n"
        'M = pl.dynamic("M")\n'
        "\n"
        "\n"
        "@pl.program\n"
        "class Demo:\n"
        "    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator, auto_scope=False)\n"
        "    def main(self):\n"
        "        pass\n"
        "\n"
        "    @pl.function(type=pl.FunctionType.InCore, level=pl.Level.CHIP_DIE, role=pl.Role.SubWorker)\n"
        "    def scale(x: pl.Tensor[[M], pl.FP32], y: pl.Out[pld.DistributedTensor[[M], pl.FP32]]) -> pl.Tensor[[M], pl.FP32]:\n"
        '        pl.func_attr({"split": pl.SplitMode.UP_DOWN, "n": "q"})\n'
        "        return x\n"
    )


def test_unformatted_text_has_no_extra_lines() -> None:
    text = python_print(ir.Program([function("a"), function("b")], "P"), format=False)
    assert text == (
        "# pypto.program: P\nimport pypto.language as pl\n\n@pl.program\nclass P:\n"
        "    @pl.function\n    def a(self):\n        return\n    @pl.function\n    def b(self):\n        return"
    )


def test_a_function_alone() -> None:
    x = ir.Var("x", T)
    made = ir.Function("f", [(x, ParamDirection.InOut)], [T, INDEX], ir.ReturnStmt([x, ir.index_const(1)]))
    assert python_print(made) == (
        "# pypto.function: f\n"
        "import pypto.language as pl\n"
        "\n"
        "\n"
        "@pl.function\n"
        "def f(x: pl.InOut[pl.Tensor[[32], pl.FP32]]) -> tuple[pl.Tensor[[32], pl.FP32], pl.Scalar[pl.INDEX]]:\n"
        "    return x, 1\n"
    )


def test_empty_names_and_programs() -> None:
    assert python_print(ir.Program([], "")) == (
        "# pypto.program: Program\nimport pypto.language as pl\n\n\n@pl.program\nclass Program:\n    pass\n"
    )


@pytest.mark.parametrize("type_", list(FunctionType))
def test_kind_level_and_role_are_printed(type_: FunctionType) -> None:
    made = function("f", type=type_)
    line = python_print(made).splitlines()[4]
    parts = [] if type_ is FunctionType.Opaque else [f"type=pl.FunctionType.{type_.name}"]
    if made.level is not None:
        parts += [f"level=pl.Level.{made.level.name}", f"role=pl.Role.{made.role.name}"]
    assert line == ("@pl.function(" + ", ".join(parts) + ")" if parts else "@pl.function")


def test_external_source_and_binding() -> None:
    made = function(
        "f", ir.SeqStmts([]), type=FunctionType.AIV, attrs={"external_source": "k.cpp"}, requires_runtime_binding=True
    )
    lines = python_print(made).splitlines()
    assert 'external_source="k.cpp"' in lines[4]
    assert lines[5] == "def f(): ..."
    made = function("f", ir.SeqStmts([]), attrs={"k": 1}, requires_runtime_binding=True)
    assert python_print(made).splitlines()[5:] == ["def f():", '    pl.func_attr({"k": 1})', "    ..."]


def test_self_is_left_out_for_workers_only() -> None:
    text = python_print(ir.Program([function("a", type=FunctionType.InCore), function("b")], "P"))
    assert "def a():" in text
    assert "def b(self):" in text


def test_called_functions_come_first() -> None:
    def order(*functions: ir.Function) -> list[str]:
        text = python_print(ir.Program(list(functions), "P"))
        return [line.split("(")[0].split()[1] for line in text.splitlines() if line.startswith("    def ")]

    assert order(calling("a", "c"), calling("b"), calling("c", "b")) == ["b", "c", "a"]
    assert order(calling("a", "b"), calling("b", "a"), calling("c")) == ["a", "b", "c"]
    submit = ir.EvalStmt(ir.Submit(ir.GlobalVar("z"), [], [], ir.UnknownType(), ir.Span.unknown()))
    assert order(function("a", submit), calling("z")) == ["z", "a"]
    names = [f"f{at:04}" for at in range(3000)]
    long = [calling(name, after) for name, after in pairwise(names)] + [calling(names[-1])]
    assert order(*long) == names[::-1]


def test_another_prefix() -> None:
    text = python_print(function("f", type=FunctionType.InCore), prefix="L")
    assert text.splitlines()[1] == "from pypto import language as L"
    assert "@L.function(type=L.FunctionType.InCore" in text


def test_concise_keeps_signatures() -> None:
    x = ir.Var("x", T)
    y = ir.Var("y", T)
    made = ir.Function("f", [x], [T], ir.SeqStmts([ir.AssignStmt(y, x), ir.ReturnStmt([y])]))
    text = python_print(made, concise=True)
    assert "def f(x: pl.Tensor[[32], pl.FP32]) -> pl.Tensor[[32], pl.FP32]:\n    y = x\n    return y\n" in text


def test_format_callback() -> None:
    register_format_callback(str.upper)
    try:
        assert python_print(ir.index_const(1) + ir.Var("x", INDEX)) == "1 + X"
        assert python_print(ir.Var("x", INDEX), format=False) == "x"
    finally:
        register_format_callback(None)
    assert python_print(ir.Var("x", INDEX)) == "x"


def test_only_nodes_and_types() -> None:
    with pytest.raises(TypeError, match="only nodes and types"):
        python_print(3)  # type: ignore[arg-type]


def test_a_large_program_is_printed_in_full() -> None:
    x = ir.Var("x", T)
    stmts: list[ir.Stmt] = []
    for at in range(2000):
        stmts.append(ir.AssignStmt(ir.Var(f"t{at}", T), ir.Call(ir.Op("x.y"), [x], T, ir.Span.unknown())))
    lines = python_print(ir.Function("f", [x], [], ir.SeqStmts(stmts))).splitlines()
    call = 'pl.expr.call("x.y", x, type=pl.Tensor[[32], pl.FP32])'
    assert lines[6:] == [f"    t{at}: pl.Tensor[[32], pl.FP32] = {call}" for at in range(2000)]
