"""Simplify: what it folds, what it must leave, and that programs compute the same before and after."""

import random

import pytest

from pypto import ir
from pypto.ir.types import ScalarType, TensorType, TensorView, TileType
from pypto.ir.verify import verify
from pypto.passes.simplify import Simplify, simplify_function
from tests.ir.arith.scalar_reference import evaluate

D = ir.DataType
INDEX, BOOL, I64 = ScalarType(D.INDEX), ScalarType(D.BOOL), ScalarType(D.INT64)
NOWHERE = ir.Span.unknown()


def var(name, type_=INDEX):
    return ir.Var(name, type_, NOWHERE)


def num(value, dtype=D.INDEX):
    return ir.ConstInt(value, dtype, NOWHERE)


def add(a, b):
    return ir.Add(a, b, a.type.dtype)


def less(a, b):
    return ir.Lt(a, b, D.BOOL)


def call(args=(), type_=INDEX, **attrs):
    return ir.Call(ir.Op("outside.value"), list(args), {}, attrs, type_, NOWHERE)


def assign(target, value):
    return ir.AssignStmt(target, value, NOWHERE)


def seq(*stmts):
    return ir.SeqStmts(list(stmts))


def give(*values):
    return ir.YieldStmt(list(values), NOWHERE)


def ret(*values):
    return ir.ReturnStmt(list(values), NOWHERE)


def loop(i, start, stop, body, args=(), results=(), step=1, **more):
    bounds = [num(v) if isinstance(v, int) else v for v in (start, stop, step)]
    return ir.ForStmt(i, *bounds, list(args), body, list(results), NOWHERE, **more)


def function(body, *params, attrs=None):
    return ir.Function("f", list(params), [], body, NOWHERE, attrs=attrs)


def stmts(func):
    return ir.flatten_to_stmts(func.body)


# -- a small interpreter of scalar functions -----------------------------------------------------------------------------


class Jump(Exception):
    pass


class Done(Exception):
    pass


def run(func, values):
    env = dict(zip(func.params, values, strict=True))
    try:
        block(func.body, env)
    except Done as done:
        return done.args[0]
    return None


def block(body, env):
    for stmt in ir.flatten_to_stmts(body):
        match stmt:
            case ir.AssignStmt():
                env[stmt.var] = evaluate(stmt.value, env)
            case ir.ReturnStmt():
                raise Done([evaluate(v, env) for v in stmt.value])
            case ir.YieldStmt():
                return [evaluate(v, env) for v in stmt.value]
            case ir.BreakStmt():
                raise Jump("break")
            case ir.ContinueStmt():
                raise Jump("continue")
            case ir.IfStmt():
                chosen = stmt.then_body if evaluate(stmt.condition, env) else stmt.else_body
                got = block(chosen, env) if chosen is not None else None
                env.update(zip(stmt.return_vars, got or [], strict=bool(stmt.return_vars)))
            case ir.ForStmt():
                carried = [evaluate(a.initValue, env) for a in stmt.iter_args]
                for i in range(*(evaluate(b, env) for b in (stmt.start, stmt.stop, stmt.step))):
                    env[stmt.loop_var] = i
                    env.update(zip(stmt.iter_args, carried, strict=True))
                    try:
                        carried = block(stmt.body, env) or []
                    except Jump as jump:
                        if jump.args[0] == "break":
                            break
                env.update(zip(stmt.return_vars, carried, strict=True))
            case ir.WhileStmt():
                carried = [evaluate(a.initValue, env) for a in stmt.iter_args]
                env.update(zip(stmt.iter_args, carried, strict=True))
                while evaluate(stmt.condition, env):
                    carried = block(stmt.body, env) or []
                    env.update(zip(stmt.iter_args, carried, strict=True))
                env.update(zip(stmt.return_vars, carried, strict=True))
            case _:
                raise AssertionError(stmt)
    return None


def same_meaning(func, inputs=((0,), (1,), (3,), (7,))):
    result = simplify_function(func)
    assert simplify_function(result) is result, "idempotent"
    for values in inputs:
        assert run(result, values) == run(func, values)
    return result


# -- what folds -----------------------------------------------------------------------------------------------------------


def test_an_unchanged_function_is_the_same_object():
    x, y = var("x"), var("y")
    func = function(seq(assign(y, add(call([x]), x)), ret(y)), x)
    assert simplify_function(func) is func
    prog = ir.Program([func], "p", NOWHERE)
    assert Simplify()(prog) is prog
    assert Simplify().get_name() == "Simplify"


def test_a_constant_of_the_top_level_goes_everywhere():
    x, n, y, t, i = var("x"), var("n"), var("y"), var("t", TensorType([8], D.FP32)), var("i")
    sized = TensorType([ir.Mul(n, num(2), D.INDEX)], D.FP32)
    z = var("z", sized)
    body = seq(
        assign(n, num(4)),
        loop(i, 0, x, assign(y, call([add(n, num(1))]))),
        assign(z, call([n], sized, device=add(n, num(2)))),
        ret(z),
    )
    result = simplify_function(function(body, x))
    first, second, last = stmts(result)
    assert first.body.value.args[0].value == 5
    assert second.value.args[0].value == 4
    assert second.value.attrs["device"].value == 6
    assert second.value.type is TensorType([8], D.FP32)
    assert second.var.type is second.value.type
    assert last.value[0] is second.var
    assert t.type is second.var.type


def test_a_constant_of_a_branch_only_gives_bounds():
    x, k, y, flag = var("x"), var("k"), var("y"), var("flag", BOOL)
    inner = seq(assign(k, num(3)), assign(y, call([add(x, k), ir.Min(k, num(9), D.INDEX), less(k, num(4))])))
    result = simplify_function(function(ir.IfStmt(flag, inner, None, [], NOWHERE), x, flag))
    kept, used = ir.flatten_to_stmts(result.body.then_body)
    assert kept.var is k
    assert used.value.args[0].right is k
    assert used.value.args[1] is k
    assert used.value.args[2].value is True


def test_a_scalar_assigned_twice_is_left_alone():
    x, k = var("x"), var("k")
    body = seq(assign(k, num(3)), assign(k, num(4)), ret(add(x, k)))
    func = function(body, x)
    assert simplify_function(func) is func
    i = var("i")
    body = seq(assign(k, x), loop(i, 0, 3, assign(k, add(k, num(1)))), ret(ir.Max(k, num(2), D.INDEX)))
    same_meaning(function(body, x))


def test_loop_bounds_and_conditions_feed_the_folding():
    x, i, y = var("x"), var("i"), var("y")
    value = call(
        [ir.FloorMod(i, num(8), D.INDEX), ir.Max(ir.Sub(i, num(1), D.INDEX), num(0), D.INDEX), ir.FloorDiv(x, num(4), D.INDEX)]
    )
    guarded = ir.IfStmt(less(x, num(4)), assign(y, value), assign(y, call([less(x, num(4))])), [], NOWHERE)
    result = simplify_function(function(loop(i, 0, 8, guarded), x))
    inside = result.body.body
    first, second, third = inside.then_body.value.args
    assert first is i
    assert isinstance(second, ir.Max), "i - 1 may be -1"
    assert third.value == 0
    assert inside.else_body.value.args[0].value is False


def test_a_local_index_may_be_negative():
    x, y, z = var("x"), var("y"), var("z")
    body = seq(assign(y, ir.Sub(x, num(5), D.INDEX)), assign(z, ir.Max(y, num(0), D.INDEX)), ret(z))
    assert run(same_meaning(function(body, x)), (1,)) == [0]
    acc, out, i = ir.IterArg("acc", INDEX, x), var("out"), var("i")
    down = loop(i, 0, 4, give(ir.Sub(acc, num(3), D.INDEX)), [acc], [out])
    same_meaning(function(seq(down, ret(ir.Max(out, num(0), D.INDEX))), x))
    counting = loop(i, num(-3), num(3), give(add(acc, ir.Abs(i, D.INDEX))), [acc], [out])
    same_meaning(function(seq(counting, ret(out)), x))


def test_decided_branches_leave_their_statements():
    x, y, r = var("x"), var("y"), var("r")
    then = seq(assign(y, add(x, num(1))), give(y))
    for cond, wanted in ((ir.Ge(x, num(0), D.BOOL), 8), (less(x, num(0)), 7)):
        result = same_meaning(function(seq(ir.IfStmt(cond, then, give(x), [r], NOWHERE), ret(r)), x))
        assert not any(isinstance(s, ir.IfStmt) for s in stmts(result))
        assert run(result, (7,)) == [wanted]
    only = ir.IfStmt(less(x, num(0)), ir.EvalStmt(call(), NOWHERE), None, [], NOWHERE)
    assert stmts(simplify_function(function(seq(only, ret(x)), x)))[0].value == [x]


def test_a_decided_branch_that_returns_drops_what_follows():
    x = var("x")
    early = ir.IfStmt(ir.ConstBool(True), ret(x), None, [], NOWHERE)
    result = same_meaning(function(seq(early, ret(num(3))), x))
    assert [type(s) for s in stmts(result)] == [ir.ReturnStmt]
    i, acc, out = var("i"), ir.IterArg("acc", INDEX, x), var("out")
    body = seq(ir.IfStmt(ir.ConstBool(True), ir.BreakStmt(NOWHERE), None, [], NOWHERE), give(acc))
    kept = simplify_function(function(seq(loop(i, 0, 9, body, [acc], [out]), ret(out)), x))
    assert verify(ir.Program([kept], "p"), ["SSAForm"]) == [], "the yield stays the last statement"


def test_comments_of_a_dissolved_statement_stay():
    x, y = var("x"), var("y")
    gone = ir.attach_leading_comments(ir.IfStmt(ir.ConstBool(True), assign(y, call()), None, [], NOWHERE), ["why"])
    result = simplify_function(function(seq(gone, ret(y)), x))
    assert stmts(result)[0].leading_comments == ["why"]


def test_loops_of_no_iteration():
    x, i, acc, out = var("x"), var("i"), ir.IterArg("acc", INDEX, var("start")), var("out")
    start = acc.initValue
    for bounds in ((0, 0, 1), (3, 3, 2), (5, 3, 1), (3, 5, -1), (num(0), num(0), -3)):
        body = seq(loop(i, *bounds[:2], give(add(acc, num(1))), [acc], [out], step=bounds[2]), ret(call([out])))
        result = simplify_function(function(body, x, start))
        assign_, last = stmts(result)
        assert assign_.var is out
        assert assign_.value is start
        assert last.value[0].args[0] is out


@pytest.mark.parametrize(
    ("start", "stop", "step", "trips"),
    [
        (9, -1, -3, 4),
        (3, 0, -1, 3),
        (0, 10, 3, 4),
        (0, 1, 1, 1),
        (5, 4, -1, 1),
        (5, 0, -7, 1),
        (0, 5, 7, 1),
        (0, -5, 1, 0),
        (-5, 0, -1, 0),
        (4, 0, -4, 1),
    ],
)
def test_trip_counts_of_all_signs(start, stop, step, trips):
    x, i, y, out = var("x", I64), var("i"), var("y", I64), var("out", I64)
    acc = ir.IterArg("acc", I64, x)
    inside = seq(assign(y, ir.Add(ir.Mul(acc, num(10, D.INT64), D.INT64), i, D.INT64)), give(y))
    func = function(seq(loop(i, num(start), num(stop), inside, [acc], [out], step=num(step)), ret(out)), x)
    result = same_meaning(func, ((0,), (1,)))
    assert len(range(start, stop, step)) == trips
    assert any(isinstance(s, ir.ForStmt) for s in stmts(result)) == (trips > 1)


def test_symbolic_loops_of_one_and_of_no_iteration():
    x, i, out, acc = var("x"), var("i"), var("out"), ir.IterArg("acc", INDEX, num(0))
    once = seq(loop(i, x, add(x, num(1)), give(add(acc, i)), [acc], [out]), ret(out))
    assert [type(s) for s in stmts(same_meaning(function(once, x)))] == [ir.ReturnStmt]
    none = seq(loop(i, add(x, num(1)), x, give(add(acc, i)), [acc], [out]), ret(out))
    assert not any(isinstance(s, ir.ForStmt) for s in stmts(same_meaning(function(none, x))))
    open_ = function(seq(loop(i, 0, x, give(add(acc, i)), [acc], [out]), ret(out)), x)
    assert simplify_function(open_) is open_


def test_other_loops_are_kept():
    x, i = var("x"), var("i")
    body = ir.EvalStmt(call([x]), NOWHERE)
    for more in (
        {"kind": ir.ForKind.Parallel},
        {"kind": ir.ForKind.Pipeline, "attrs": {"pipeline_stages": 2}},
        {"kind": ir.ForKind.Unroll},
        {"attrs": {"note": 1}},
    ):
        for stop in (0, 1):
            func = function(loop(i, 0, stop, body, **more), x)
            assert simplify_function(func) is func
    jumping = function(loop(i, 0, 1, seq(body, ir.BreakStmt(NOWHERE))), x)
    assert simplify_function(jumping) is jumping


def test_a_loop_of_one_iteration_over_a_variable_that_changes():
    x, i, y, out = var("x"), var("i"), var("y"), var("out")
    acc = ir.IterArg("acc", INDEX, x)
    inside = seq(assign(x, add(x, num(5))), assign(y, add(acc, i)), give(y))
    same_meaning(function(seq(loop(i, x, add(x, num(1)), inside, [acc], [out]), ret(out, x)), x))


def test_a_view_that_changes_nothing_disappears():
    view = ir.get_op("tensor.view")
    square = TensorType([8, 8], D.FP32)
    x, same, flat, y = var("x", square), var("same", square), var("flat", TensorType([64], D.FP32)), var("y", square)

    def viewed(source, *shape):
        return ir.create_op_call("tensor.view", [source, ir.MakeTuple([num(n) for n in shape])], NOWHERE)

    assert viewed(x, 8, 8).op is view
    body = seq(
        assign(same, viewed(x, 8, 8)),
        assign(flat, viewed(same, 64)),
        assign(y, call([viewed(same, 8, 8)], square)),
        ret(flat, y, same),
    )
    result = simplify_function(function(body, x))
    first, second, last = stmts(result)
    assert first.var is flat
    assert first.value.args[0] is x
    assert second.value.args == [x]
    assert last.value == [flat, y, x]
    twice = function(seq(assign(same, x), assign(same, viewed(x, 8, 8)), ret(same)), x)
    kept = stmts(simplify_function(twice))
    assert kept[1].value is x


# -- what must stay -------------------------------------------------------------------------------------------------------


def test_calls_stay():
    x, y, z = var("x"), var("y"), var("z")
    body = seq(assign(y, call([x])), assign(z, ir.Mul(call([x]), num(0), D.INDEX)), ret(x))
    result = simplify_function(function(body, x))
    assert [type(s) for s in stmts(result)] == [ir.AssignStmt, ir.AssignStmt, ir.ReturnStmt]
    assert isinstance(stmts(result)[1].value.left, ir.Call)


def test_unused_scalars_go_and_chains_of_them_too():
    x, a, b, c = var("x"), var("a"), var("b"), var("c")
    result = simplify_function(function(seq(assign(a, add(x, x)), assign(b, add(a, num(1))), assign(c, b), ret(x)), x))
    assert isinstance(result.body, ir.ReturnStmt)


def test_what_attributes_types_and_scopes_refer_to_stays():
    x, a, b, n, d = var("x"), var("a"), var("b"), var("n"), var("d", ScalarType(D.TASK_ID))
    tensor = TensorType([ir.Mul(n, x, D.INDEX)], D.FP32)
    view = TensorType([64], D.FP32, None, TensorView([ir.Mul(a, x, D.INDEX)], ir.TensorLayout.ND))
    t, v = var("t", tensor), var("v", view)
    scope = ir.InCoreScopeStmt(body=ir.EvalStmt(call([t, v], device=b), NOWHERE)).with_attrs({"manual_dep_edges": [d]})
    body = seq(
        assign(n, add(x, num(1))),
        assign(a, add(x, num(2))),
        assign(b, add(x, num(3))),
        assign(d, call(type_=ScalarType(D.TASK_ID))),
        assign(t, call(type_=tensor)),
        assign(v, call(type_=view)),
        scope,
    )
    func = function(body, x)
    result = simplify_function(func)
    assert result is func
    assert verify(ir.Program([result], "p"), ["UseAfterDef"]) == []


def test_a_task_held_only_by_an_attribute_list_keeps_its_definition_through_a_merge():
    x, flag, d = var("x"), var("flag", BOOL), var("d", ScalarType(D.TASK_ID))
    one, two = var("one", ScalarType(D.TASK_ID)), var("two", ScalarType(D.TASK_ID))
    branch = ir.IfStmt(
        flag,
        seq(assign(one, call(type_=one.type)), give(one)),
        seq(assign(two, call(type_=two.type)), give(two)),
        [d],
        NOWHERE,
    )
    scope = ir.InCoreScopeStmt(body=ir.EvalStmt(call([x]), NOWHERE)).with_attrs({"manual_dep_edges": [d]})
    func = function(seq(branch, scope), x, flag)
    assert simplify_function(func) is func
    decided = function(seq(branch.replace(condition=ir.ConstBool(True)), scope), x, flag)
    result = simplify_function(decided)
    assert stmts(result)[-1].attrs["manual_dep_edges"] == [one]
    assert verify(ir.Program([result], "p"), ["UseAfterDef", "SSAForm"]) == []


def test_results_of_branches_shrink_with_their_yields():
    x, flag, k, t = var("x"), var("flag", BOOL), var("k"), var("t", TensorType([8], D.FP32))
    one, two = var("one", t.type), var("two", t.type)
    branch = ir.IfStmt(
        flag,
        seq(assign(one, call([x], t.type)), give(num(1), one)),
        seq(assign(two, call([x], t.type)), give(num(2), two)),
        [k, t],
        NOWHERE,
    )
    result = simplify_function(function(seq(branch, ret(t)), x, flag))
    shrunk = stmts(result)[0]
    assert shrunk.return_vars == [t]
    assert [len(ir.flatten_to_stmts(b)[-1].value) for b in (shrunk.then_body, shrunk.else_body)] == [1, 1]
    assert verify(ir.Program([result], "p"), ["SSAForm", "TypeChecked", "UseAfterDef"]) == []
    alone = simplify_function(
        function(ir.IfStmt(flag, seq(ir.EvalStmt(call(), NOWHERE), give(num(1))), give(num(2)), [k], NOWHERE), flag)
    )
    assert alone.body.return_vars == []
    assert isinstance(alone.body.then_body, ir.EvalStmt)


def test_a_carried_scalar_that_only_feeds_itself_goes():
    x, i, s, u, out, count = var("x"), var("i"), var("s"), var("u"), var("out"), var("count")
    acc, n = ir.IterArg("acc", INDEX, x), ir.IterArg("n", INDEX, num(0))
    inside = seq(assign(s, add(acc, i)), assign(u, add(n, num(1))), give(s, u))
    result = same_meaning(function(seq(loop(i, 0, 3, inside, [acc, n], [out, count]), ret(out)), x))
    kept = stmts(result)[0]
    assert [a.name_hint for a in kept.iter_args] == ["acc"]
    assert kept.return_vars == [out]
    assert verify(ir.Program([result], "p"), ["SSAForm"]) == []


def test_a_carried_value_of_a_condition_stays():
    x, w, res, s = var("x"), ir.IterArg("w", INDEX, num(0)), var("res"), var("s")
    until = ir.WhileStmt(less(w, x), [w], seq(assign(s, add(w, num(1))), give(s)), [res], NOWHERE)
    func = function(seq(until, ret(x)), x)
    assert simplify_function(func) is func


# -- types and structure --------------------------------------------------------------------------------------------------


def test_types_of_carried_values_follow():
    x, n, i = var("x"), var("n"), var("i")
    sized, wanted = TileType([16, n], D.FP32), TileType([16, 8], D.FP32)
    t, u, out = var("t", sized), var("u", sized), var("out", sized)
    acc = ir.IterArg("acc", sized, t)
    body = seq(
        assign(n, num(8)),
        assign(t, call([x], sized)),
        loop(i, 0, x, seq(assign(u, call([acc], sized)), give(u)), [acc], [out]),
        ret(out),
    )
    result = simplify_function(function(body, x))
    first, second, last = stmts(result)
    assert first.var.type is first.value.type is wanted
    assert second.iter_args[0].type is wanted
    assert second.iter_args[0].initValue is first.var
    assert second.return_vars[0].type is wanted
    assert ir.flatten_to_stmts(second.body)[0].value.args[0] is second.iter_args[0]
    assert last.value[0] is second.return_vars[0]
    assert verify(ir.Program([result], "p"), ["SSAForm", "TypeChecked", "UseAfterDef"]) == []


def test_core_num_of_a_scope_is_folded():
    x, n = var("x"), var("n")
    scope = ir.SpmdScopeStmt(add(n, num(1)), body=ir.EvalStmt(call([x]), NOWHERE))
    result = simplify_function(function(seq(assign(n, num(3)), scope), x))
    assert result.body.core_num.value == 4


# -- random programs ------------------------------------------------------------------------------------------------------


class Writer:
    """Writes random scalar functions in SSA form, or with variables assigned again."""

    def __init__(self, seed, ssa):
        self.rng = random.Random(seed)
        self.ssa = ssa
        self.count = 0

    def fresh(self):
        self.count += 1
        return var(f"v{self.count}", I64)

    def expr(self, known, depth=2):
        rng = self.rng
        if depth == 0 or rng.random() < 0.25:
            return rng.choice(known) if rng.random() < 0.6 else num(rng.choice([-3, -1, 0, 1, 2, 3, 4, 8]), D.INT64)
        kind = rng.choice([ir.Add, ir.Sub, ir.Add, ir.Mul, ir.Min, ir.Max, ir.FloorDiv, ir.FloorMod])
        right = num(rng.choice([-4, -2, 2, 3, 8]), D.INT64) if kind in (ir.FloorDiv, ir.FloorMod) else self.expr(known, depth - 1)
        return kind(self.expr(known, depth - 1), right, D.INT64)

    def condition(self, known):
        rng = self.rng
        cond = rng.choice([ir.Lt, ir.Le, ir.Eq, ir.Ne, ir.Ge])(self.expr(known, 1), self.expr(known, 1), D.BOOL)
        return ir.And(cond, less(rng.choice(known), num(9, D.INT64)), D.BOOL) if rng.random() < 0.2 else cond

    def body(self, known, depth, yields):
        known, out, rng = list(known), [], self.rng
        for _ in range(rng.randrange(1, 4)):
            roll = rng.random()
            if depth == 0 or roll < 0.5:
                own = [v for v in known if v.name_hint.startswith("v") and type(v) is ir.Var]
                target = rng.choice(own) if own and not self.ssa and rng.random() < 0.4 else self.fresh()
                out.append(assign(target, self.expr(known)))
                known.append(target)
            elif roll < 0.75:
                results = [self.fresh() for _ in range(rng.randrange(0, 3))]
                arms = [self.body(known, depth - 1, len(results)) for _ in range(2)]
                out.append(ir.IfStmt(self.condition(known), *arms, results, NOWHERE))
                known += results
            else:
                args = [ir.IterArg(f"a{self.count}_{k}", I64, self.expr(known, 1)) for k in range(rng.randrange(0, 3))]
                results = [self.fresh() for _ in args]
                i = var(f"i{self.count}", I64)
                start, stop, step = rng.choice([0, 3, -2]), rng.choice([0, 1, 3, 4, -1]), rng.choice([1, 2, -1, -3])
                bounds = [num(b, D.INT64) for b in (start, stop, step)]
                if rng.random() < 0.3:
                    bounds[0] = known[0]
                    bounds[1] = ir.Add(known[0], num(rng.choice([0, 1, 2]), D.INT64), D.INT64)
                inside = self.body([*known, i, *args], depth - 1, len(args))
                out.append(ir.ForStmt(i, *bounds, args, inside, results, NOWHERE))
                known += results
        if yields is None:
            out.append(ret(*(self.rng.choice(known) for _ in range(3))))
        elif yields:
            out.append(give(*(self.expr(known, 1) for _ in range(yields))))
        return out[0] if len(out) == 1 else ir.SeqStmts(out)


@pytest.mark.parametrize("ssa", [True, False])
def test_random_scalar_programs_compute_the_same(ssa):
    changed = 0
    for seed in range(150):
        x, y = var("x", I64), var("y", I64)
        func = function(Writer(seed, ssa).body([x, y], 3, None), x, y)
        result = same_meaning(func, ((0, 0), (1, -2), (3, 5), (-4, 1), (8, 9)))
        changed += result is not func
        names = ["TypeChecked", "UseAfterDef", "NoRedundantBlocks", *(["SSAForm"] if ssa else [])]
        assert verify(ir.Program([result], "p"), names) == [], seed
    assert changed > 100


def test_ten_thousand_statements():
    x = var("x")
    current, body = x, []
    for at in range(10_000):
        following = var(f"v{at}")
        body.append(assign(following, call([current, add(num(at), num(1))])))
        current = following
    result = simplify_function(function(seq(*body, ret(current)), x))
    assert stmts(result)[9_999].value.args[1].value == 10_000
