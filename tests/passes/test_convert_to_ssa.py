"""ConvertToSSA: versions, carried values, merges, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from blocks import (
    BOOL,
    INDEX,
    INT32,
    add,
    at,
    call,
    const,
    function,
    give,
    gt,
    index,
    let,
    loop,
    lt,
    mul,
    program,
    ret,
    seq,
    sub,
    unroll,
    when,
)
from scalar_reference import defined_once_and_dominated, outcome, show

from pypto import ir, passes
from pypto.diagnostics import InvalidTypeError, InvalidValueError


def convert(f: ir.Function) -> ir.Function:
    before = program(f)
    after = passes.convert_to_ssa()(before)
    converted = after["f"]
    assert converted is not None
    defined_once_and_dominated(converted)
    assert passes.convert_to_ssa()(after) is after
    return converted


def same_results(f: ir.Function, g: ir.Function, *inputs: tuple[int, ...]) -> None:
    for args in inputs:
        assert outcome(program(f), "f", *args) == outcome(program(g), "f", *args), args


def test_what_is_in_ssa_form_is_returned_as_it_is() -> None:
    x, y, i, out = index("x", "y", "i", "out")
    acc = ir.IterArg("acc", INDEX, x)
    f = function([x], let(y, add(x, 1)), loop(i, (0, 4, 1), give(add(acc, y)), [acc], [out]), ret(out))
    assert passes.convert_to_ssa()(program(f)).functions == program(f).functions
    p = program(f)
    assert passes.convert_to_ssa()(p) is p


def test_straight_line_versions() -> None:
    x, y = index("x", "y")
    f = function([x], let(x, add(x, 1)), let(y, mul(x, 2)), let(x, sub(y, x)), ret(x))
    g = convert(f)
    assert show(g.body) == "x__ssa_v1 = (x + 1)\ny = (x__ssa_v1 * 2)\nx__ssa_v2 = (y - x__ssa_v1)\nreturn x__ssa_v2"
    assert g.params[0] is x
    same_results(f, g, (3,), (-4,))


def test_names_that_look_like_versions_stay_apart() -> None:
    # B065
    x, x_0, x_1 = index("x", "x_0", "x_1")
    f = function([x, x_0], let(x_1, add(x, x_0)), let(x, mul(x_1, 2)), let(x_0, sub(x, x_1)), ret(add(mul(x_0, 100), x)))
    g = convert(f)
    assert show(g.body) == (
        "x_1 = (x + x_0)\nx__ssa_v1 = (x_1 * 2)\nx_0__ssa_v1 = (x__ssa_v1 - x_1)\nreturn ((x_0__ssa_v1 * 100) + x__ssa_v1)"
    )
    same_results(f, g, (2, 3), (5, -1))


def test_made_names_avoid_those_of_the_author() -> None:
    x, taken = index("x", "x__ssa_v1")
    f = function([x], let(taken, add(x, 5)), let(x, add(x, 1)), ret(add(x, taken)))
    g = convert(f)
    assert [s.var.name_hint for s in g.body.stmts[:2]] == ["x__ssa_v1", "x__ssa_v2"]
    same_results(f, g, (1,))


def test_versions_of_made_names_keep_their_base_and_qualifier() -> None:
    (flag,) = index("i__go_tmp_v0")
    f = function([], let(flag, 1), let(flag, add(flag, 1)), ret(flag))
    assert show(convert(f).body).splitlines()[0] == "i__go_ssa_v0 = 1"


def test_only_what_lives_across_iterations_is_carried() -> None:
    # B056
    x, acc, i, j, off, part = index("x", "acc", "i", "j", "off", "part")
    body_i = seq(let(off, mul(i, 16)), let(part, call(acc, off)), let(acc, add(acc, part)))
    body_j = seq(let(off, mul(j, 32)), let(part, call(acc, off)), let(acc, sub(acc, part)))
    f = function([x], let(acc, x), loop(i, (0, 4, 1), body_i), loop(j, (0, 2, 1), body_j), ret(acc))
    g = convert(f)
    assert show(g.body).splitlines()[:3] == [
        "acc__ssa_v0 = x",
        "for i in 0, 4, 1 [acc__iter_v1 = acc__ssa_v0] -> acc__rv_v3:",
        "  off__ssa_v0 = (i * 16)",
    ]
    loops = [s for s in g.body.stmts if isinstance(s, ir.ForStmt)]
    assert [len(s.iter_args) for s in loops] == [1, 1]
    same_results(f, g, (1,), (10,))


def test_an_inner_loop_of_constant_bounds_defines_what_the_outer_reads() -> None:
    x, acc, y, i, j = index("x", "acc", "y", "i", "j")
    inner = loop(j, (0, 3, 1), let(y, add(x, j)))
    f = function([x], let(acc, 0), loop(i, (0, 2, 1), seq(inner, let(acc, add(acc, y)))), ret(acc))
    g = convert(f)
    outer = g.body.stmts[1]
    assert [a.name_hint for a in outer.iter_args] == ["acc__iter_v1"]
    same_results(f, g, (4,))


def test_a_value_that_only_the_loop_assigns() -> None:
    x, n, y, i = index("x", "n", "y", "i")
    f = function([x], loop(i, (0, 3, 1), let(y, add(x, i))), ret(y))
    g = convert(f)
    assert show(g.body).startswith("for i in 0, 3, 1 [y__iter_v0 = 0] -> y__rv_v2:")
    same_results(f, g, (4,))
    maybe = function([x, n], loop(i, (0, n, 1), let(y, add(x, i), line=3), line=2), ir.ReturnStmt([y], at(4)))
    with pytest.raises(InvalidValueError, match="'y' is assigned only inside the loop") as caught:
        passes.convert_to_ssa()(program(maybe))
    assert caught.value.span["line"] == 4
    assert "(line 2)" in caught.value.message
    assert caught.value.hint == "assign 'y' before the loop"


def test_branches_merge_what_is_read_later_only() -> None:
    # B061
    c, x, k, y = index("c", "x", "k", "y")
    then, other = seq(let(k, 1), let(y, add(x, 1))), seq(let(k, 2), let(y, add(x, 2)))
    f = function([c, x], when(gt(c, 0), then, other, line=2), ret(y))
    g = convert(f)
    assert show(g.body) == (
        "if (c > 0) -> y__phi_v2:\n  k__ssa_v0 = 1\n  y__ssa_v0 = (x + 1)\n  yield y__ssa_v0\n"
        "else:\n  k__ssa_v1 = 2\n  y__ssa_v1 = (x + 2)\n  yield y__ssa_v1\nreturn y__phi_v2"
    )
    same_results(f, g, (1, 5), (0, 5))


def test_an_if_without_else_merges_with_what_was_before() -> None:
    c, x = index("c", "x")
    f = function([c, x], when(gt(c, 0), let(x, add(x, 1))), ret(x))
    g = convert(f)
    assert show(g.body) == (
        "if (c > 0) -> x__phi_v2:\n  x__ssa_v1 = (x + 1)\n  yield x__ssa_v1\nelse:\n  yield x\nreturn x__phi_v2"
    )
    same_results(f, g, (1, 5), (0, 5))


def test_a_value_of_one_branch_only() -> None:
    # B058: unread it is not merged; read it is refused, at the place of the read
    c, x, w, s = index("c", "x", "w", "s")
    body = when(gt(c, 0), seq(let(w, mul(x, 2)), let(s, add(s, w))))
    f = function([c, x], let(s, 0), body, ret(s))
    g = convert(f)
    (branch,) = [s for s in g.body.stmts if isinstance(s, ir.IfStmt)]
    assert [v.name_hint for v in branch.return_vars] == ["s__phi_v2"]
    assert branch.return_vars[0].type is INDEX
    same_results(f, g, (1, 5), (0, 5))
    bad = function([c, x], when(gt(c, 0), let(w, x, line=3), line=2), let(s, add(w, 1), line=5), ret(s))
    with pytest.raises(InvalidValueError, match="'w' is assigned in only one branch of the if") as caught:
        passes.convert_to_ssa()(program(bad))
    assert (caught.value.span["line"], caught.value.span["column"]) == (5, 5)
    assert caught.value.hint == "assign 'w' in both branches, or before the if"
    assert caught.value.note == "raised by the pass ConvertToSSA"


def test_read_before_assignment() -> None:
    x, y = index("x", "y")
    f = function([x], let(x, add(y, 1), line=2), let(y, x), ret(y))
    with pytest.raises(InvalidValueError, match="'y' is read before it is assigned") as caught:
        passes.convert_to_ssa()(program(f))
    assert caught.value.span["line"] == 2


def test_existing_carried_values_and_results_stay() -> None:
    x, s, i, out = index("x", "s", "i", "out")
    acc = ir.IterArg("acc", INDEX, x)
    body = seq(let(s, add(s, acc)), give(add(acc, i)))
    f = function([x], let(s, 0), loop(i, (0, 3, 1), body, [acc], [out]), ret(add(out, s)))
    g = convert(f)
    assert "for i in 0, 3, 1 [acc = x] [s__iter_v1 = s__ssa_v0] -> out -> s__rv_v3:" in show(g.body)
    assert "yield (acc + i), s__ssa_v2" in show(g.body)
    same_results(f, g, (2,), (-3,))


def test_yields_at_the_end_of_a_scope_are_extended_there() -> None:
    x, s, i, out = index("x", "s", "i", "out")
    acc = ir.IterArg("acc", INDEX, x)
    body = seq(let(s, add(s, acc)), ir.RuntimeScopeStmt(body=give(add(acc, i))))
    f = function([x], let(s, 0), loop(i, (0, 3, 1), body, [acc], [out]), ret(add(out, s)))
    g = convert(f)
    (for_loop,) = [s for s in g.body.stmts if isinstance(s, ir.ForStmt)]
    scope = for_loop.body.stmts[-1]
    assert isinstance(scope, ir.RuntimeScopeStmt)
    assert len(scope.body.value) == 2
    same_results(f, g, (2,))


def test_while_conditions_read_carried_values() -> None:
    (n,) = index("n")
    f = function([n], ir.WhileStmt(gt(n, 3), [], let(n, sub(n, 2)), []), ret(n))
    g = convert(f)
    assert show(g.body) == (
        "while (n__iter_v1 > 3) [n__iter_v1 = n] -> n__rv_v3:\n  n__ssa_v2 = (n__iter_v1 - 2)\n  yield n__ssa_v2\nreturn n__rv_v3"
    )
    same_results(f, g, (9,), (1,))


def test_scopes_hide_nothing() -> None:
    x, y = index("x", "y")
    f = function([x], ir.RuntimeScopeStmt(body=seq(let(x, add(x, 1)), let(y, x))), let(x, add(y, x)), ret(x))
    g = convert(f)
    assert show(g.body).splitlines() == [
        "RuntimeScopeStmt",
        "  x__ssa_v1 = (x + 1)",
        "  y = x__ssa_v1",
        "x__ssa_v2 = (y + x__ssa_v1)",
        "return x__ssa_v2",
    ]


def test_the_loop_variable_may_be_assigned_and_read_after() -> None:
    x, i, y = index("x", "i", "y")
    f = function([x], let(y, 0), loop(i, (0, 3, 1), seq(let(i, add(i, x)), let(y, add(y, i)))), ret(add(mul(y, 100), i)))
    g = convert(f)
    same_results(f, g, (2,), (0,))


def test_one_loop_variable_for_two_loops() -> None:
    x, i = index("x", "i")
    f = function([x], loop(i, (0, 2, 1), let(x, add(x, i))), loop(i, (0, 3, 1), let(x, sub(x, i))), ret(x))
    g = convert(f)
    assert [s.loop_var.name_hint for s in g.body.stmts[:2]] == ["i__idx_v0", "i__idx_v1"]
    same_results(f, g, (2,))


def test_types_and_attributes_follow_the_versions() -> None:
    n, m = index("n", "m")
    tile = ir.TileType([64], ir.DataType.FP32, None, ir.TileView(valid_shape=[n]), ir.MemorySpace.Vec)
    t, u = ir.Var("t", tile), ir.Var("u", tile)
    task = ir.Var("task", ir.ScalarType(ir.DataType.TASK_ID))
    scope = ir.RuntimeScopeStmt(body=seq(let(u, call(t, name="copy", type_=tile)))).with_attrs({"manual_dep_edges": [task]})
    f = function(
        [n, m],
        let(n, add(n, 1)),
        let(t, call(n, name="make", type_=tile)),
        let(task, call(name="launch", type_=task.type)),
        let(task, call(name="launch", type_=task.type)),
        scope,
        ret(m),
    )
    g = convert(f)
    versions = {s.var.name_hint: s.var for s in g.body.stmts[:4]}
    new_n = versions["n__ssa_v1"]
    assert versions["t"].type.tile_view.valid_shape[0] is new_n
    assert versions["t"].type is not tile
    inner = g.body.stmts[4]
    assert [v.name_hint for v in inner.attrs["manual_dep_edges"]] == ["task__ssa_v1"]
    copy = inner.body
    assert copy.value.type.tile_view.valid_shape[0] is new_n
    assert copy.var.type.tile_view.valid_shape[0] is new_n


def test_a_merged_value_with_a_merged_extent() -> None:
    c, n = index("c", "n")
    tile = ir.TileType([64], ir.DataType.FP32, None, ir.TileView(valid_shape=[n]), ir.MemorySpace.Vec)
    t = ir.Var("t", tile)
    then = seq(let(n, 3), let(t, call(n, name="make", type_=tile)))
    other = seq(let(n, 4), let(t, call(n, name="make", type_=tile)))
    f = function([c], when(gt(c, 0), then, other), ir.EvalStmt(call(t, name="use")), ret(c))
    g = convert(f)
    (branch,) = [s for s in g.body.stmts if isinstance(s, ir.IfStmt)]
    n_phi, t_phi = branch.return_vars
    assert (n_phi.name_hint, t_phi.name_hint) == ("n__phi_v2", "t__phi_v2")
    assert t_phi.type.tile_view.valid_shape[0] is n_phi


def test_comments_and_places_stay() -> None:
    x, i = index("x", "i")
    body = let(x, add(x, i), "count", line=7)
    f = function(
        [x], ir.attach_leading_comments(loop(i, (0, 2, 1), body, line=6), ["the loop"]), let(x, mul(x, 2), "twice"), ret(x)
    )
    g = convert(f)
    text = show(g.body)
    assert "# the loop\nfor i" in text
    assert "  # count\n  x__ssa" in text
    assert "# twice\nx__ssa" in text
    for_loop = g.body.stmts[0]
    assert for_loop.span.begin_line == 6
    assert for_loop.body.stmts[0].span.begin_line == 7


def test_an_assignment_of_another_type_is_refused() -> None:
    # B064
    (x,) = index("x")
    v, i = ir.Var("v", INT32), ir.Var("i", INDEX)
    s = ir.Var("s", INDEX)
    f = ir.Function("f", [x, v], [INDEX], seq(let(s, 0), loop(i, (0, 8, 1), let(s, v, line=4)), ret(s)))
    with pytest.raises(InvalidTypeError, match="'s' has type INDEX and is assigned a value of type INT32") as caught:
        passes.convert_to_ssa()(program(f))
    assert caught.value.span["line"] == 4


@pytest.mark.parametrize(("kind", "words"), [("jump", "run ctrl_flow_transform"), ("unroll", "run unroll_loops")])
def test_what_must_be_lowered_first_is_named(kind: str, words: str) -> None:
    x, i = index("x", "i")
    stmts: list[Any] = [let(x, add(x, i))]
    if kind == "jump":
        stmts.insert(0, when(gt(x, 3), ir.BreakStmt()))
    make = unroll if kind == "unroll" else loop
    with pytest.raises(InvalidValueError) as caught:
        passes.convert_to_ssa()(program(function([x], make(i, (0, 4, 1), seq(*stmts), line=2), ret(x))))
    assert caught.value.hint is not None
    assert words in caught.value.hint
    assert caught.value.span["line"] == 2


def test_long_chains_and_long_functions() -> None:
    (x,) = index("x")
    chain: ir.Expr = x
    for _ in range(20_000):
        chain = ir.Add(chain, x, ir.DataType.INDEX)
    stmts = [let(x, add(x, const(k))) for k in range(5_000)]
    f = function([x], let(x, chain), *stmts, ret(x))
    result = passes.convert_to_ssa()(program(f))["f"]
    assert result is not None
    names = {s.var.name_hint for s in result.body.stmts[:-1]}
    assert len(names) == 5_001


def test_deep_nests_do_not_multiply_the_work() -> None:
    (x,) = index("x")
    body: ir.Stmt = let(x, add(x, 1))
    for depth in range(60):
        if depth % 2:
            body = loop(ir.Var(f"i{depth}", INDEX), (0, 1, 1), seq(body, let(x, mul(x, 1))))
        else:
            body = when(lt(x, 100), seq(body, let(x, sub(x, 0))))
    f = function([x], body, ret(x))
    g = convert(f)
    same_results(f, g, (1,))


def test_bool_flags_leak_from_loops() -> None:
    x, i = index("x", "i")
    hit = ir.Var("hit", ir.ScalarType(BOOL))
    f = ir.Function("f", [x], [hit.type], seq(loop(i, (0, 3, 1), let(hit, gt(i, x))), ir.ReturnStmt([hit])))
    g = convert(f)
    same_results(f, g, (0,), (5,))


@pytest.mark.parametrize(
    ("type_", "creator"),
    [
        (ir.TensorType([8, 8], ir.DataType.FP32), "tensor.create"),
        (ir.TileType([8, 8], ir.DataType.FP32, None, None, ir.MemorySpace.Vec), "tile.create"),
    ],
)
def test_an_array_that_only_the_loop_assigns_starts_empty(type_: ir.Type, creator: str) -> None:
    n, i = index("n", "i")
    y = ir.Var("y", type_)
    made = loop(i, (0, n, 1), let(y, call(i, name="make", type_=type_)), line=2)
    f = ir.Function("f", [n], [type_], seq(made, ir.ReturnStmt([y])))
    g = convert(f)
    create, for_loop, _ = g.body.stmts
    assert create.value.op.name == creator
    assert create.value.type == type_
    assert for_loop.iter_args[0].initValue is create.var


def test_an_array_whose_extent_the_loop_computes_cannot_start_empty() -> None:
    n, i, k = index("n", "i", "k")
    tile = ir.TileType([64], ir.DataType.FP32, None, ir.TileView(valid_shape=[k]), ir.MemorySpace.Vec)
    y = ir.Var("y", tile)
    body = seq(let(k, add(i, 1)), let(y, call(k, name="make", type_=tile)))
    f = ir.Function("f", [n], [tile], seq(loop(i, (0, n, 1), body), ir.ReturnStmt([y])))
    with pytest.raises(InvalidValueError, match="assigned only inside the loop"):
        passes.convert_to_ssa()(program(f))
