"""Names: distinct variables get distinct identifiers, and each use has the name of its variable."""

from __future__ import annotations

import ast
import keyword
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from pypto import ir
from pypto.printer import python_print

INDEX = ir.ScalarType(ir.INDEX)
FP32 = ir.FP32


def straight(hints: list[str]) -> tuple[ir.Function, list[ir.Var]]:
    """A function that sums up variables of these hints, one parameter and one variable after the other."""
    variables = [ir.Var(hint, INDEX) for hint in hints]
    stmts = [ir.AssignStmt(new, ir.Add(old, ir.index_const(at), ir.INDEX)) for at, (old, new) in enumerate(pairwise(variables))]
    return ir.Function("f", [variables[0]], [INDEX], ir.body_of([*stmts, ir.ReturnStmt([variables[-1]])])), variables


def assigned_names(text: str) -> list[str]:
    """The parameter and the targets in order, after checking that each value uses the one before."""
    tree = ast.parse(text)
    function = next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    names = [function.args.args[-1].arg]
    for stmt in function.body[:-1]:
        assert isinstance(stmt, ast.AnnAssign)
        assert ast.unparse(stmt.value).split(" + ")[0] == names[-1]
        names.append(ast.unparse(stmt.target))
    assert ast.unparse(function.body[-1]) == f"return {names[-1]}"
    return names


def test_suffixes_avoid_names_that_exist() -> None:
    function, _ = straight(["v", "v", "v_1", "v_1", "v_1_1", "V", "self", "pl"])
    names = assigned_names(python_print(function))
    assert len(set(names)) == 8
    assert names == ["v", "v_1", "v_1_2", "v_1_3", "v_1_1", "V", "self_1", "pl_1"]


def test_hints_of_one_variable_are_kept() -> None:
    function, _ = straight(["x__ssa_v0", "acc__iter_v1", "acc__rv_v2", "_", "match"])
    assert assigned_names(python_print(function)) == ["x__ssa_v0", "acc__iter_v1", "acc__rv_v2", "_", "match"]


def test_hints_that_are_no_names() -> None:
    function, _ = straight(["", "1x", "a.b", "a b", "for", "None", "pld", "\u00e9"])
    names = assigned_names(python_print(function))
    assert names == ["v", "_1x", "a_b", "a_b_1", "for_1", "None_1", "pld_1", "\u00e9"]


@given(
    st.lists(
        st.sampled_from(["x", "x_1", "x_2", "x_1_1", "y", "pl", "self", "if", "", "x__FREE_VAR", "pld"]), min_size=1, max_size=30
    )
)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_any_mix_of_hints_gives_distinct_identifiers(hints: list[str]) -> None:
    function, variables = straight(hints)
    names = assigned_names(python_print(function))
    assert len(set(names)) == len(variables)
    assert all(name.isidentifier() and not keyword.iskeyword(name) and name not in ("pl", "pld", "self") for name in names)
    in_program = python_print(ir.Program([function], "P"))
    assert assigned_names(in_program) == names


def test_callees_of_a_function_alone_are_not_taken_by_variables() -> None:
    helper = ir.Var("helper", INDEX)
    body = ir.SeqStmts(
        [ir.EvalStmt(ir.Call(ir.GlobalVar("helper"), [helper], ir.UnknownType(), ir.Span.unknown())), ir.ReturnStmt([helper])]
    )
    text = python_print(ir.Function("f", [helper], [INDEX], body))
    assert "    helper(helper_1)\n    return helper_1\n" in text
    text = python_print(ir.Program([ir.Function("f", [helper], [INDEX], body)], "P"))
    assert "        self.helper(helper)\n        return helper\n" in text


def test_free_variables_say_so() -> None:
    free = ir.Var("x", INDEX)
    text = python_print(ir.Function("f", [ir.Var("x", INDEX)], [INDEX], ir.ReturnStmt([free])))
    assert "return x__FREE_VAR" in text
    assert python_print(ir.ReturnStmt([free])) == "return x"


def test_dynamic_dimensions_are_declared_once() -> None:
    m, other = ir.Var("M", INDEX), ir.Var("M", INDEX)
    tensor = ir.TensorType([m, 8], FP32)
    x, y = ir.Var("x", tensor), ir.Var("y", ir.DistributedTensorType([other], FP32))
    first = ir.Function("a", [x], [tensor], ir.ReturnStmt([x]))
    second = ir.Function("b", [y], [], ir.ReturnStmt())
    text = python_print(ir.Program([first, second], "P"))
    assert 'M = pl.dynamic("M")\nM_1 = pl.dynamic("M_1")\n' in text
    assert text.count("pl.dynamic(") == 2
    assert "def a(self, x: pl.Tensor[[M, 8], pl.FP32]) -> pl.Tensor[[M, 8], pl.FP32]:" in text
    assert "def b(self, y: pld.DistributedTensor[[M_1], pl.FP32]):" in text


def test_local_scalars_in_types_are_not_declared() -> None:
    n, kept = ir.Var("n", INDEX), ir.Var("k", INDEX)
    x = ir.Var("x", ir.TensorType([64, 64], FP32))
    view = ir.TensorView([], ir.TensorLayout.ND, [kept, ir.index_const(64)])
    v = ir.Var("v", ir.TensorType([64, 64], FP32, None, view))
    body = ir.SeqStmts([ir.AssignStmt(kept, ir.mul(n, 8)), ir.AssignStmt(v, x), ir.ReturnStmt([x])])
    text = python_print(ir.Function("f", [x, n], [x.type], body))
    assert "dynamic" not in text
    assert "valid_shape=[k, 64]" in text


def test_a_renamed_local_has_one_name_in_compound_dimensions_too() -> None:
    first, second = ir.Var("k", INDEX), ir.Var("k", INDEX)
    t = ir.Var("t", ir.TensorType([ir.Mul(second, ir.index_const(2), ir.INDEX)], FP32))
    body = ir.SeqStmts([ir.AssignStmt(second, first), ir.AssignStmt(t, t)])
    text = python_print(ir.Function("f", [first], [], body))
    assert "t: pl.Tensor[[k_1 * pl.const(2, pl.INDEX)], pl.FP32]" in text


def test_parameters_that_signatures_mention_are_declared_and_keep_their_name() -> None:
    n = ir.Var("n", INDEX)
    view = ir.TensorView([], ir.TensorLayout.ND, [n])
    x = ir.Var("x", ir.TensorType([64], FP32, None, view))
    text = python_print(ir.Function("f", [n, x], [], ir.ReturnStmt()))
    assert 'n = pl.dynamic("n")' in text
    assert "def f(n: pl.Scalar[pl.INDEX], x: pl.Tensor[[64], pl.FP32, pl.TensorView(valid_shape=[n]," in text


def test_allocations_outside_the_text_have_names_of_their_own() -> None:
    one, two, inside = (ir.Var("mem", ir.PtrType()) for _ in range(3))
    types = [ir.TileType([8], FP32, ir.MemRef(base, 0, 32), None, ir.MemorySpace.Vec) for base in (one, two, inside)]
    a, b, c = (ir.Var(name, type_) for name, type_ in zip("abc", types, strict=True))
    body = ir.SeqStmts([ir.AssignStmt(inside, inside), ir.AssignStmt(c, c)])
    text = python_print(ir.Function("f", [a, b], [], body))
    assert 'a: pl.Tile[[8], pl.FP32, pl.MemRef("mem", pl.const(0, pl.INT64), 32), pl.Mem.Vec]' in text
    assert 'b: pl.Tile[[8], pl.FP32, pl.MemRef("mem_1", pl.const(0, pl.INT64), 32), pl.Mem.Vec]' in text
    assert "c: pl.Tile[[8], pl.FP32, pl.MemRef(mem, pl.const(0, pl.INT64), 32), pl.Mem.Vec]" in text


def test_variables_that_only_the_type_of_a_call_mentions() -> None:
    x, hidden = ir.Var("x", INDEX), ir.Var("x", INDEX)
    call = ir.Call(ir.GlobalVar("g"), [x], ir.TensorType([hidden], FP32), ir.Span.unknown())
    text = python_print(ir.Function("f", [x], [], ir.EvalStmt(call)))
    assert "    pl.expr.call(g, x, type=pl.Tensor[[x_1], pl.FP32])" in text
