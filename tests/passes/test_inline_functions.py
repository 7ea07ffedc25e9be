"""InlineFunctions: arguments by value, no capture, symbolic dimensions, results."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from blocks import INDEX, INT32, add, call, call_self, eq, function, gt, index, let, loop, lt, mul, program, ret, seq, sub, when
from scalar_reference import defined_once_and_dominated, outcome, show

from pypto import ir, passes
from pypto.diagnostics import InvalidTypeError, InvalidValueError

INLINE = ir.FunctionType.Inline


def inlined(before: ir.Program, *inputs: tuple[int, ...]) -> ir.Function:
    after = passes.inline_functions()(before)
    assert [f.name for f in after.functions.values()] == ["f"]
    result = after["f"]
    assert result is not None
    converted = passes.convert_to_ssa()(after)
    defined_once_and_dominated(converted["f"])
    for args in inputs:
        assert outcome(after, "f", *args) == outcome(before, "f", *args), args
        assert outcome(converted, "f", *args) == outcome(before, "f", *args), args
    return result


def increment() -> ir.Function:
    n, k = index("n", "k")
    return function([n], let(n, add(n, 1)), let(k, mul(n, 2)), ret(k), name="inc", type_=INLINE)


def test_without_inline_functions_nothing_changes() -> None:
    (x,) = index("x")
    p = program(function([x], ret(x)))
    assert passes.inline_functions()(p) is p


def test_arguments_are_passed_by_value() -> None:
    # B053
    k, n, a, b = index("k", "n", "a", "b")
    total = add(add(mul(k, 1000), mul(n, 100)), add(mul(a, 10), b))
    main = function([k, n], let(a, call_self("inc", k)), let(b, call_self("inc", n)), ret(total))
    g = inlined(program(main, increment()), *itertools.product(range(4), repeat=2))
    assert show(g.body).splitlines() == [
        "n = k", "n = (n + 1)", "k = (n * 2)", "a = k", "n = n", "n = (n + 1)", "k = (n * 2)", "b = k",
        "return (((k * 1000) + (n * 100)) + ((a * 10) + b))",
    ]  # fmt: skip
    caller_k, caller_n = g.params
    assert all(s.var is not caller_k and s.var is not caller_n for s in g.body.stmts[:-1])


def test_a_parameter_that_is_only_read_is_the_argument() -> None:
    x, p, y, t = index("x", "p", "y", "t")
    helper = function([p], let(t, add(p, p)), ret(t), name="double", type_=INLINE)
    main = function([x], let(y, call_self("double", x)), let(y, call_self("double", 3)), ret(y))
    g = inlined(program(main, helper), (4,))
    assert show(g.body).splitlines() == ["t = (x + x)", "y = t", "t = (3 + 3)", "y = t", "return y"]


def test_a_call_may_rebind_its_own_argument() -> None:
    (x,) = index("x")
    main = function([x], let(x, call_self("inc", x)), let(x, call_self("inc", add(x, 1))), ret(x))
    inlined(program(main, increment()), (0,), (5,))


def test_nested_calls_are_taken_out_in_order() -> None:
    x, y, i = index("x", "y", "i")
    value = add(call(x, name="first"), add(call_self("inc", call_self("inc", x)), call(x, name="last")))
    condition = gt(call_self("inc", x), 5)
    main = function(
        [x],
        let(y, value),
        when(condition, let(y, call_self("inc", y)), when(lt(call_self("inc", y), 3), let(y, 7))),
        loop(i, (0, call_self("inc", 1), 1), let(y, add(y, i))),
        ret(call_self("inc", y), y),
    )
    inlined(program(main, increment()), (0,), (2,), (9,))


def test_conditions_of_while_loops() -> None:
    x, y = index("x", "y")
    plain = ir.WhileStmt(lt(call_self("inc", x), 9), [], let(x, add(x, 1)), [])
    jumps = ir.WhileStmt(
        lt(call_self("inc", y), 20), [], seq(let(y, add(y, 1)), when(eq(y, 3), ir.ContinueStmt()), let(y, add(y, 2))), []
    )
    main = function([x], plain, let(y, x), jumps, ret(add(mul(x, 100), y)))
    before = program(main, increment())
    after = passes.parse_pipeline("inline_functions,ctrl_flow_transform,convert_to_ssa,flatten_call_expr")
    with passes.PassContext([], passes.VerificationLevel.NONE):
        result = after.run(before)
    for x0 in range(-3, 12):
        assert outcome(result, "f", x0) == outcome(before, "f", x0)


def test_inline_functions_that_call_inline_functions() -> None:
    x, p, q, y = index("x", "p", "q", "y")
    twice = function([p], let(q, call_self("inc", call_self("inc", p))), ret(q), name="atwice", type_=INLINE)
    main = function([x], let(y, call_self("atwice", x)), ret(y))
    inlined(program(main, twice, increment()), (0,), (3,))


def test_results_that_are_several() -> None:
    a, b, p, q, t = index("a", "b", "p", "q", "t")
    pair = ir.TupleType([INDEX, INDEX])
    swap = function([p, q], let(t, sub(p, q)), ret(q, t), name="swap", type_=INLINE)
    both = ir.Var("_tuple_tmp", pair)
    main = function(
        [a, b],
        let(both, call_self("swap", a, b, type_=pair)),
        let(a, ir.TupleGetItemExpr(both, 0)),
        let(b, ir.TupleGetItemExpr(both, 1)),
        ret(a, b),
    )
    g = inlined(program(main, swap), (1, 5), (9, 2))
    assert "_tuple_tmp" not in show(g.body).replace("tuple_tmp__", "")
    assert not any(isinstance(s, ir.AssignStmt) and isinstance(s.value, ir.MakeTuple) for s in g.body.stmts)
    keeps = function(
        [a, b],
        let(both, call_self("swap", a, b, type_=pair)),
        let(a, add(a, 100)),
        let(b, ir.TupleGetItemExpr(both, 0)),
        ir.ReturnStmt([a, b, ir.TupleGetItemExpr(both, 1)]),
    )
    inlined(program(keeps, swap), (1, 5))


def test_an_inline_function_for_its_effect() -> None:
    x, p, r = index("x", "p", "r")
    log = function([p], ir.EvalStmt(call(p, name="log")), let(r, add(p, 1)), ret(r), name="log", type_=INLINE)
    main = function([x], ir.EvalStmt(call_self("log", x)), ret(x))
    g = inlined(program(main, log), (4,))
    assert show(g.body).splitlines() == ["log(x)", "r = (x + 1)", "return x"]


def test_loops_and_branches_of_the_helper_get_their_own_variables() -> None:
    x, y, p, i, acc, out = index("x", "y", "p", "i", "acc", "out")
    arg = ir.IterArg("arg", INDEX, p)
    body = seq(let(acc, add(acc, arg)), ir.YieldStmt([add(arg, i)]))
    helper = function(
        [p], let(acc, 0), loop(i, (0, 3, 1), body, [arg], [out]), when(gt(acc, 9), let(acc, 9)), ret(add(acc, out)),
        name="sum", type_=INLINE,
    )  # fmt: skip
    main = function([x], let(y, call_self("sum", x)), let(y, add(y, call_self("sum", y))), ret(y))
    g = inlined(program(main, helper), (0,), (3,), (11,))
    loops = [s for s in g.body.stmts if isinstance(s, ir.ForStmt)]
    assert len({id(s.loop_var) for s in loops}) == len({id(s.iter_args[0]) for s in loops}) == 2


def test_symbolic_dimensions_become_those_of_the_argument() -> None:
    # B023
    rows = ir.Var("M", INDEX)
    fp32 = ir.DataType.FP32
    formal, actual = ir.TensorType([rows, 8], fp32), ir.TensorType([64, 8], fp32)
    p, t, x, y = ir.Var("p", formal), ir.Var("t", formal), ir.Var("x", actual), ir.Var("y", actual)
    helper = ir.Function(
        "h", [p], [formal], seq(let(t, call(p, rows, name="copy", type_=formal)), ir.ReturnStmt([t])), type=INLINE
    )
    main = ir.Function("f", [x], [actual], seq(let(y, call_self("h", x, type_=actual)), ir.ReturnStmt([y])))
    g = passes.inline_functions()(program(main, helper))["f"]
    assert g is not None
    made = g.body.stmts[0]
    assert made.var.type == actual
    assert made.value.type == actual
    assert made.value.args[1].value == 64


def test_references_in_attributes_follow() -> None:
    # B052
    task_type = ir.ScalarType(ir.DataType.TASK_ID)
    p, task, got = ir.Var("p", INDEX), ir.Var("task", task_type), ir.Var("got", task_type)
    inner = ir.RuntimeScopeStmt(body=ir.EvalStmt(call(p, name="use"))).with_attrs({"manual_dep_edges": [task]})
    helper = ir.Function(
        "h", [p], [task_type], seq(let(task, call(name="launch", type_=task_type)), inner, ir.ReturnStmt([task])), type=INLINE
    )
    x = ir.Var("x", INDEX)
    after = ir.RuntimeScopeStmt(body=ir.EvalStmt(call(x, name="use"))).with_attrs({"manual_dep_edges": [got]})
    main = ir.Function("f", [x], [], seq(let(got, call_self("h", x, type_=task_type)), after, ir.ReturnStmt([])))
    g = passes.inline_functions()(program(main, helper))["f"]
    assert g is not None
    launch, scope, alias, last, _ = g.body.stmts
    assert scope.attrs["manual_dep_edges"] == [launch.var] or scope.attrs["manual_dep_edges"][0] is launch.var
    assert alias.value is launch.var
    assert last.attrs["manual_dep_edges"][0] is alias.var


def test_scalars_are_cast_to_the_type_of_the_parameter() -> None:
    p, t, y, x = ir.Var("p", INT32), ir.Var("t", INT32), ir.Var("y", INT32), ir.Var("x", INDEX)
    helper = ir.Function("h", [p], [INT32], seq(let(t, p), ir.ReturnStmt([t])), type=INLINE)
    main = ir.Function("f", [x], [INT32], seq(let(y, call_self("h", x, type_=INT32)), ir.ReturnStmt([y])))
    g = passes.inline_functions()(program(main, helper))["f"]
    assert g is not None
    bound = g.body.stmts[0]
    assert isinstance(bound.value, ir.Cast)
    assert bound.value.dtype is ir.DataType.INT32


def test_comments_of_both_sides_stay() -> None:
    x, p, y, t = index("x", "p", "y", "t")
    back = ir.attach_leading_comments(ret(t), ["done"])
    helper = function([p], let(t, add(p, 1), "helper"), back, name="h", type_=INLINE)
    main = function([x], let(y, call_self("h", x), "call"), ret(y))
    g = inlined(program(main, helper), (1,))
    assert show(g.body) == "# call\n# helper\nt = (x + 1)\n# done\ny = t\nreturn y"


def refuse(words: str, *functions: Any, error: type[Exception] = InvalidValueError, line: int | None = None) -> None:
    with pytest.raises(error, match=words) as caught:
        passes.inline_functions()(program(*functions))
    if line is not None:
        assert caught.value.span["line"] == line  # type: ignore[attr-defined]


def test_refusals() -> None:
    x, p, y = index("x", "p", "y")
    place = ir.Span("kernel.py", 4, 9)
    again = ir.Call(ir.GlobalVar("h"), [p], INDEX, place)
    main = function([x], let(y, call_self("h", x)), ret(y))
    refuse("'h' calls itself: h -> h", main, function([p], let(y, again), ret(y), name="h", type_=INLINE), line=4)
    early = function([p], when(gt(p, 0), ir.ReturnStmt([p], place), ret(p)), name="h", type_=INLINE)
    refuse("'h' may return only at its end", main, early, line=4)
    refuse("takes 2 arguments, got 1", main, function([p, y], ret(p), name="h", type_=INLINE), error=InvalidTypeError)
    refuse("'h' returns nothing to assign", main, function([p], ret(), name="h", type_=INLINE), error=InvalidTypeError)
    device = ir.Call(ir.GlobalVar("h"), [x], {}, {"device": x}, INDEX, place)
    odd = function([x], let(y, device), ret(y))
    refuse("cannot carry 'device'", odd, function([p], ret(p), name="h", type_=INLINE), line=4)
    task = ir.Submit(ir.GlobalVar("h"), [x], [], ir.ScalarType(ir.DataType.TASK_ID), place)
    submitted = function([x], ir.EvalStmt(task), ret(x))
    refuse("cannot be submitted as a task", submitted, function([p], ret(p), name="h", type_=INLINE), line=4)
