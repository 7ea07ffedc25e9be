"""Statements and scopes: the text of every kind, comments, and what is left out when it follows from the rest."""

from __future__ import annotations

from typing import Any

import pytest

from pypto import ir
from pypto.ir.enums import ForKind, InlineLanguage, Level, Role, SplitMode
from pypto.printer import python_print

INDEX, INT32, BOOL = ir.ScalarType(ir.INDEX), ir.ScalarType(ir.INT32), ir.ScalarType(ir.BOOL)
x, y, n, i = (ir.Var(name, INDEX) for name in "xyni")
flag = ir.Var("flag", BOOL)
PASS = ir.SeqStmts([])
BREAK = ir.BreakStmt()
ZERO, ONE = ir.index_const(0), ir.index_const(1)
task = ir.Var("tid", ir.ScalarType(ir.TASK_ID))


def assign(var: ir.Var, value: ir.Expr) -> ir.AssignStmt:
    return ir.AssignStmt(var, value)


def loop(*bounds: ir.Expr, body: ir.Stmt = BREAK, var: ir.Var = i, **options: Any) -> ir.ForStmt:
    return ir.ForStmt(var, *bounds, options.pop("iter_args", []), body, options.pop("return_vars", []), **options)


def carried(name: str, init: ir.Expr, type_: ir.Type = INDEX) -> ir.IterArg:
    return ir.IterArg(name, type_, init)


acc, best = carried("acc", x), carried("best", y)
typed = carried("acc", x, INT32)
total, most = ir.Var("total", INDEX), ir.Var("most", INDEX)
wide = ir.Var("total", INT32)

CASES = [
    (assign(y, ir.Add(x, ONE, ir.INDEX)), "y: pl.Scalar[pl.INDEX] = x + 1"),
    (ir.EvalStmt(x), "x"),
    (ir.ReturnStmt(), "return"),
    (ir.ReturnStmt([x]), "return x"),
    (ir.ReturnStmt([x, y]), "return x, y"),
    (ir.YieldStmt([x, y]), "pl.yield_(x, y)"),
    (ir.YieldStmt(), "pl.yield_()"),
    (ir.BreakStmt(), "break"),
    (ir.ContinueStmt(), "continue"),
    (ir.SeqStmts([]), "pass"),
    (ir.InlineStmt("if a:\n    b()\n\nc()", InlineLanguage.Python), "if a:\n    b()\n\nc()"),
    (ir.IfStmt(flag, BREAK, None, []), "if flag:\n    break"),
    (ir.IfStmt(flag, BREAK, PASS, []), "if flag:\n    break\nelse:\n    pass"),
    (ir.IfStmt(flag, PASS, ir.IfStmt(flag, BREAK, None, []), []), "if flag:\n    pass\nelse:\n    if flag:\n        break"),
    (
        ir.IfStmt(flag, ir.YieldStmt([x]), ir.YieldStmt([y]), [total]),
        "if flag:\n    total: pl.Scalar[pl.INDEX] = pl.yield_(x)\nelse:\n    total: pl.Scalar[pl.INDEX] = pl.yield_(y)",
    ),
    (
        ir.IfStmt(flag, ir.YieldStmt([x, y]), ir.YieldStmt([y, x]), [total, most]),
        "if flag:\n    total, most = pl.yield_(x, y)\nelse:\n    total, most = pl.yield_(y, x)",
    ),
    (
        ir.IfStmt(flag, ir.YieldStmt([x, y]), ir.YieldStmt([y, x]), [wide, most]),
        "if flag:\n    total, most = pl.yield_(x, y, result_types=[pl.Scalar[pl.INT32], pl.Scalar[pl.INDEX]])\n"
        "else:\n    total, most = pl.yield_(y, x, result_types=[pl.Scalar[pl.INT32], pl.Scalar[pl.INDEX]])",
    ),
    (
        ir.IfStmt(flag, ir.RuntimeScopeStmt(body=ir.YieldStmt([x])), ir.YieldStmt([y]), [total]),
        "if flag:\n    with pl.scope():\n        total: pl.Scalar[pl.INDEX] = pl.yield_(x)\n"
        "else:\n    total: pl.Scalar[pl.INDEX] = pl.yield_(y)",
    ),
    (loop(ZERO, n, ONE), "for i in pl.range(n):\n    break"),
    (loop(x, n, ONE), "for i in pl.range(x, n):\n    break"),
    (loop(ZERO, n, y), "for i in pl.range(0, n, y):\n    break"),
    (loop(ZERO, n, ONE, kind=ForKind.Parallel), "for i in pl.parallel(n):\n    break"),
    (loop(ZERO, n, ONE, kind=ForKind.Unroll), "for i in pl.unroll(n):\n    break"),
    (
        loop(ZERO, n, ONE, kind=ForKind.Pipeline, attrs={"pipeline_stages": 2, "note": "x"}),
        'for i in pl.pipeline(n, stage=2, attrs={"note": "x"}):\n    break',
    ),
    (
        loop(ir.ConstInt(0, ir.INT64), n, ir.ConstInt(1, ir.INT64), var=ir.Var("i", ir.ScalarType(ir.INT64))),
        "for i in pl.range(pl.const(0, pl.INT64), n, pl.const(1, pl.INT64)):\n    break",
    ),
    (
        loop(ir.ConstInt(0, ir.INT32), ir.ConstInt(8, ir.INT32), ir.ConstInt(1, ir.INT32), var=ir.Var("i", INT32)),
        "for i in pl.range(pl.const(0, pl.INT32), pl.const(8, pl.INT32), pl.const(1, pl.INT32)):\n    break",
    ),
    (loop(ZERO, ir.Var("m", INT32), ONE, var=ir.Var("i", INT32)), "for i in pl.range(m):\n    break"),
    (loop(ZERO, ir.Var("m", INT32), ONE), "for i in pl.range(m, dtype=pl.INDEX):\n    break"),
    (
        loop(ZERO, n, ONE, iter_args=[acc], return_vars=[total], body=ir.YieldStmt([acc])),
        "for i, (acc,) in pl.range(n, init_values=(x,)):\n    total: pl.Scalar[pl.INDEX] = pl.yield_(acc)",
    ),
    (
        loop(ZERO, n, ONE, iter_args=[acc, best], return_vars=[total, most], body=ir.YieldStmt([best, acc]), kind=ForKind.Unroll),
        "for i, (acc, best) in pl.unroll(n, init_values=(x, y)):\n    total, most = pl.yield_(best, acc)",
    ),
    (
        loop(ZERO, n, ONE, iter_args=[typed], return_vars=[wide], body=ir.YieldStmt([typed])),
        "for i, (acc,) in pl.range(n, init_values=(x,), iter_types=[pl.Scalar[pl.INT32]]):\n"
        "    total: pl.Scalar[pl.INT32] = pl.yield_(acc)",
    ),
    (ir.WhileStmt(flag, [], BREAK, []), "while flag:\n    break"),
    (
        ir.WhileStmt(ir.Lt(acc, n, ir.BOOL), [acc], ir.YieldStmt([acc]), [total]),
        "for (acc,) in pl.while_(init_values=(x,)):\n    pl.cond(acc < n)\n    total: pl.Scalar[pl.INDEX] = pl.yield_(acc)",
    ),
    (
        ir.WhileStmt(flag, [acc, best], ir.YieldStmt([acc, best]), [total, most]),
        "for acc, best in pl.while_(init_values=(x, y)):\n    pl.cond(flag)\n    total, most = pl.yield_(acc, best)",
    ),
    # scopes
    (ir.InCoreScopeStmt(body=BREAK), "with pl.at(level=pl.Level.CORE_GROUP):\n    break"),
    (
        ir.InCoreScopeStmt(SplitMode.UP_DOWN, "one", body=BREAK).with_attrs(
            {
                "slot_num": 2,
                "manual_dep_edges": [task],
                "arg_direction_overrides_vars": [x],
                "dump_vars": [y],
                "allow_early_resolve": True,
                "windowize": True,
            }
        ),
        "with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN), pl.cross_core_slot(slot_num=2)], "
        'name_hint="one", deps=[tid], no_dep_args=[x], dumps=[y], allow_early_resolve=True, windowize=True):\n    break',
    ),
    (
        ir.InCoreScopeStmt(body=BREAK).with_attrs({"task_id_var": task}),
        "with pl.at(level=pl.Level.CORE_GROUP) as tid:\n    break",
    ),
    (
        ir.InCoreScopeStmt(body=BREAK).with_attrs({"windowize": False, "other": 1}),
        'with pl.at(level=pl.Level.CORE_GROUP, attrs={"windowize": False, "other": 1}):\n    break',
    ),
    (
        ir.HierarchyScopeStmt(Level.CHIP, Role.Orchestrator, "h", body=BREAK),
        'with pl.at(level=pl.Level.CHIP, role=pl.Role.Orchestrator, name_hint="h"):\n    break',
    ),
    (ir.HierarchyScopeStmt(Level.CORE_GROUP, body=BREAK), "with pl.hierarchy(level=pl.Level.CORE_GROUP):\n    break"),
    (ir.ClusterScopeStmt("h", body=BREAK), 'with pl.cluster(name_hint="h"):\n    break'),
    (
        ir.SpmdScopeStmt(n, True, "h", body=BREAK).with_attrs({"predicate": ir.Gt(x, ZERO, ir.BOOL)}),
        'with pl.spmd(n, sync_start=True, name_hint="h", predicate=(x > 0)):\n    break',
    ),
    (ir.SplitAivScopeStmt(SplitMode.LEFT_RIGHT, body=BREAK), "with pl.split_aiv(2, mode=pl.SplitMode.LEFT_RIGHT):\n    break"),
    (ir.RuntimeScopeStmt(body=PASS), "with pl.scope():\n    pass"),
    (ir.RuntimeScopeStmt(True, "h", body=BREAK), 'with pl.scope(mode=pl.ScopeMode.MANUAL, name_hint="h"):\n    break'),
    (
        ir.CommDomainScopeStmt([0, 1], [ir.WindowBuffer(ir.Var("data_buf", ir.PtrType()), ONE)], "comm_d0", body=BREAK),
        'with pld.comm_domain("comm_d0", devices=[0, 1], windows=["data_buf"]):\n    break',
    ),
    (ir.CommDomainScopeStmt([], [], "comm_d0", body=BREAK), 'with pld.comm_domain("comm_d0", windows=[]):\n    break'),
]


@pytest.mark.parametrize(("stmt", "text"), CASES)
def test_text(stmt: ir.Stmt, text: str) -> None:
    assert python_print(stmt, format=False) == text


def test_every_statement_kind_has_a_case() -> None:
    kinds = {cls for cls in ir.node.NODE_KINDS.values() if issubclass(cls, ir.Stmt) and not cls.__subclasses__()}
    assert {cls.__name__ for cls in kinds} - {type(stmt).__name__ for stmt, _ in CASES} <= {"NovelStmt"}


def test_an_unknown_kind_is_written_from_its_fields() -> None:
    class NovelStmt(ir.Stmt):
        __slots__ = ("amount", "body", "name")
        FIELDS = (
            ir.node.Field("name", ir.node.FieldKind.DATA),
            ir.node.Field("amount", ir.node.FieldKind.EXPR),
            ir.node.Field("body", ir.node.FieldKind.STMT),
        )

    stmt = NovelStmt()
    stmt.name, stmt.amount, stmt.body = "n", x, BREAK
    stmt.leading_comments = stmt.trailing_comments = []
    assert python_print(stmt) == 'with pl.stmt.novel_stmt(name="n", amount=x):\n    break'
    del ir.node.NODE_KINDS["NovelStmt"]


def test_comments() -> None:
    first = ir.attach_leading_comments(ir.BreakStmt(), ["one", "two\nthree", "", "  kept", "trailing  "])
    body = ir.SeqStmts([first, ir.ContinueStmt()])
    body.trailing_comments = ["the end"]
    text = python_print(ir.IfStmt(flag, body, None, []))
    assert text.splitlines()[1:] == [
        "    # one", "    # two", "    # three", "    #", "    #   kept", "    # trailing", "    break", "    continue", "    # the end",
    ]  # fmt: skip


def test_comments_of_one_statement_bodies_and_empty_bodies() -> None:
    body = ir.BreakStmt()
    body.trailing_comments = ["after"]
    empty = ir.SeqStmts([])
    empty.trailing_comments = ["nothing here"]
    assert python_print(ir.IfStmt(flag, body, empty, [])) == (
        "if flag:\n    break\n    # after\nelse:\n    pass\n    # nothing here"
    )


def test_a_comment_cannot_break_the_text() -> None:
    stmt = ir.attach_leading_comments(ir.BreakStmt(), ["a\r\nimport os\x0cb\x00"])
    lines = python_print(stmt).splitlines()
    assert lines[-1] == "break"
    assert all(line.startswith("#") for line in lines[:-1])


def test_concise_leaves_out_what_the_value_says() -> None:
    stmts = ir.SeqStmts([assign(y, ir.Add(x, ONE, ir.INDEX)), assign(ir.Var("z", INT32), x)])
    assert python_print(stmts, concise=True) == "y = x + 1\nz: pl.Scalar[pl.INT32] = x"
    branch = ir.IfStmt(flag, ir.YieldStmt([x]), ir.YieldStmt([y]), [total])
    assert "total = pl.yield_(x)" in python_print(branch, concise=True)
    other = ir.IfStmt(flag, ir.YieldStmt([x]), ir.YieldStmt([y]), [wide])
    assert "total: pl.Scalar[pl.INT32] = pl.yield_(x)" in python_print(other, concise=True)


def test_without_sugar_all_bounds_are_written() -> None:
    text = python_print(loop(ZERO, n, ONE), sugar=False)
    assert text == "for i in pl.range(0, n, 1):\n    break"


def test_triangular_loops_stay_apart() -> None:
    j = ir.Var("j", INDEX)
    nest = loop(ZERO, n, ONE, body=loop(i, n, ir.Add(i, ONE, ir.INDEX), var=j))
    assert python_print(nest) == "for i in pl.range(n):\n    for j in pl.range(i, n, i + 1):\n        break"
