"""Bytes and back: every kind of node, sharing, places, comments; broken data is refused."""

from __future__ import annotations

from contextlib import suppress

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pypto import ir
from pypto.ir.node import NODE_KINDS, Node, walk
from pypto.ir.span import UNKNOWN
from tests.ir.samples import INDEX, PLACE, everything, var


def test_the_sample_has_every_kind() -> None:
    program = everything()
    abstract = {"Expr", "Stmt", "BinaryExpr", "UnaryExpr", "ScopeStmt", "_Values"}
    seen = {type(node).__name__ for node in walk(program["main"])} | {"Program", "MemRef"}
    known = {name for name, kind in NODE_KINDS.items() if kind.__module__.startswith("pypto.ir.")} - abstract
    assert seen == known


def test_everything_survives() -> None:
    program = everything()
    back = ir.deserialize(ir.serialize(program))
    ir.assert_structural_equal(program, back, strict=True)
    assert ir.structural_hash(program) == ir.structural_hash(back)
    assert (back.name, back.span.to_string()) == ("everything", PLACE.to_string())
    main = back["main"]
    body = main.body.body
    assert body[0].leading_comments == ["# load", "# twice"]
    assert body[-2].trailing_comments == ["# end of inline"]
    assert (main.requires_runtime_binding, main.params[0].name_hint, main.span.end_column) == (True, "n", 9)
    ir.assert_structural_equal(ir.deserialize(ir.serialize(back)), program, strict=True)


def test_sharing_survives() -> None:
    program = everything()
    back = ir.deserialize(ir.serialize(program))

    def shape(root: Node) -> list[int]:
        order: dict[int, int] = {}
        return [order.setdefault(id(node), len(order)) for node in walk(root)]

    assert shape(back["main"]) == shape(program["main"])
    main = back["main"]
    scope = main.body
    assert main.params[1].type.shape[0] is main.params[0]
    assert scope.body[1].var.type.window_buffer is scope.slots[0]
    assert scope.slots[0].base is main.params[3]
    known = {node.unique_id for node in walk(program["main"]) if isinstance(node, ir.Var)}
    assert not known & {node.unique_id for node in walk(main) if isinstance(node, ir.Var)}


def test_types_come_back_interned() -> None:
    back = ir.deserialize(ir.serialize(var("x", ir.TileType([16, 16], ir.FP32))))
    assert back.type is ir.TileType([16, 16], ir.FP32)


def test_constants_of_all_widths() -> None:
    for value in (0, -1, (1 << 63) - 1, -(1 << 63), (1 << 64) - 1):
        assert ir.deserialize(ir.serialize(ir.ConstInt(value, ir.UINT64))).value == value
    for number in (0.1, -0.0, float("inf"), 5e-324):
        back = ir.deserialize(ir.serialize(ir.ConstFloat(number, ir.FP32)))
        assert ir.structural_equal(back, ir.ConstFloat(number, ir.FP32), strict=True)


def test_files(tmp_path) -> None:
    path = tmp_path / "program.bin"
    program = everything()
    ir.serialize_to_file(program, path)
    ir.assert_structural_equal(ir.deserialize_from_file(path), program, strict=True)


def test_long_chain() -> None:
    x = var("x")
    chain: ir.Expr = x
    for _ in range(20_000):
        chain = ir.Add(chain, x, ir.INDEX)
    back = ir.deserialize(ir.serialize(chain))
    assert ir.structural_equal(chain, back, enable_auto_mapping=True)


def content(**changes: object) -> bytes:
    data = msgpack.unpackb(ir.serialize(ir.Var("x", INDEX, UNKNOWN)), strict_map_key=False)
    data.update(changes)
    return msgpack.packb(data)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc1",
        b"not a program",
        msgpack.packb([1, 2]),
        msgpack.packb({"format": "other"}),
        content(version=99),
        content(root=7),
        content(root="x"),
        content(records=[["NoSuchKind", -1, []]], root=0),
        content(records=[["Expr", -1, []]], root=0),
        content(records=[["ScalarType", -1, [[2, "NO_SUCH_DTYPE"]]]], root=0),
        content(records=[["ScalarType", -1, [[2, "INDEX"]]]], root=0),
        content(records=[["ConstInt", -1, [[1, 0], 1]]], root=0),
        content(records=[["ScalarType", -1, [[2, "INDEX"]]], ["ConstInt", -1, ["one", [1, 0]]]], root=1),
        content(records=[["ScalarType", -1, [[2, "INDEX"]]], ["ConstInt", 5, [1, [1, 0]]]], root=1),
        content(records=[["ReturnStmt", -1, [[0, 1], [0], [0]]]], root=0),
        content(records=[["ReturnStmt", -1, [[0], [0, 5], [0]]]], root=0),
        content(spans=[[1, 2, 3, 4, 5]]),
        ir.serialize(everything())[:-40],
    ],
)
def test_broken_data_is_refused(data: bytes) -> None:
    with pytest.raises(ir.SerializationError):
        ir.deserialize(data)


def test_only_nodes() -> None:
    for value in (INDEX, 1, None):
        with pytest.raises(TypeError):
            ir.serialize(value)


DATA = ir.serialize(everything())


@settings(max_examples=300, deadline=None)
@given(st.integers(0, len(DATA) - 1), st.integers(0, 255))
def test_a_changed_byte_gives_a_node_or_our_error(at: int, byte: int) -> None:
    data = bytearray(DATA)
    data[at] = byte
    with suppress(ir.SerializationError):
        assert isinstance(ir.deserialize(bytes(data)), Node)
