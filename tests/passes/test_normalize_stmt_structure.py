"""NormalizeStmtStructure."""

from __future__ import annotations

from blocks import add, function, gt, index, let, loop, program, ret, seq, when
from scalar_reference import show

from pypto import ir, passes


def normalize(f: ir.Function) -> ir.Function:
    before = program(f)
    after = passes.normalize_stmt_structure()(before)
    assert passes.normalize_stmt_structure()(after) is after
    result = after["f"]
    assert result is not None
    return result


def test_normal_form_is_returned_as_it_is() -> None:
    x, i = index("x", "i")
    body = seq(let(x, add(x, 1)), let(x, add(x, i)))
    p = program(function([x], loop(i, (0, 3, 1), body), when(gt(x, 0), ir.SeqStmts([])), ret(x)))
    assert passes.normalize_stmt_structure()(p) is p


def test_nested_and_single_sequences() -> None:
    x, i = index("x", "i")
    one = let(x, add(x, 1))
    wrapped = ir.SeqStmts([ir.SeqStmts([ir.SeqStmts([one])])])
    inner = loop(i, (0, 3, 1), wrapped)
    f = ir.Function("f", [x], x.type and [x.type], ir.SeqStmts([ir.SeqStmts([inner, ir.SeqStmts([])]), ret(x)]))
    g = normalize(f)
    assert [type(s).__name__ for s in g.body.stmts] == ["ForStmt", "ReturnStmt"]
    assert g.body.stmts[0].body is one


def test_every_kind_of_body() -> None:
    x, i = index("x", "i")

    def single() -> ir.Stmt:
        return ir.SeqStmts([let(x, add(x, 1))])

    f = function(
        [x],
        when(gt(x, 0), single(), single()),
        loop(i, (0, 2, 1), single()),
        ir.WhileStmt(gt(x, 5), [], single(), []),
        ir.RuntimeScopeStmt(body=single()),
        ret(x),
    )
    g = normalize(f)
    branch, counted, conditional, scope, _ = g.body.stmts
    for body in (branch.then_body, branch.else_body, counted.body, conditional.body, scope.body):
        assert isinstance(body, ir.AssignStmt)


def test_comments_stay_where_they_are_read() -> None:
    x = index("x")[0]
    nested = ir.attach_trailing_comments(ir.SeqStmts([let(x, 1, "one")]), ["after one"])
    last = ir.attach_trailing_comments(ir.SeqStmts([let(x, 2)]), ["after two"])
    f = function([x], when(gt(x, 0), ir.SeqStmts([nested, last])), ret(x))
    g = normalize(f)
    assert show(g.body) == "if (x > 0):\n  # one\n  x = 1\n  # after one\n  x = 2\n  # after two (end)\nreturn x"
    lone = ir.attach_trailing_comments(ir.SeqStmts([let(x, 1)]), ["end"])
    g = normalize(function([x], when(gt(x, 0), lone), ret(x)))
    assert show(g.body) == "if (x > 0):\n  x = 1\n  # end (end)\nreturn x"
