"""One full set of operands for every operator of the families memory, shaping, indexing, reductions, matrices and system."""

from __future__ import annotations

from typing import Any

from pypto.ir.dtypes import DataType
from pypto.ir.enums import AtomicType, MaskPattern, MemorySpace, PadValue, PipeType, TensorLayout, TileLayout
from tests.ops.operands import array, scalar, tensor, tile

FP32, FP16, INT32, INT8, BOOL, TASK = (
    DataType.FP32,
    DataType.FP16,
    DataType.INT32,
    DataType.INT8,
    DataType.BOOL,
    DataType.TASK_ID,
)
Vec, Mat, Left, Right, Acc, Bias = (
    MemorySpace.Vec,
    MemorySpace.Mat,
    MemorySpace.Left,
    MemorySpace.Right,
    MemorySpace.Acc,
    MemorySpace.Bias,
)

N = scalar("n")
_LEFT, _RIGHT, _SUM = tile([16, 8], FP16, space=Left), tile([8, 32], FP16, space=Right), tile([16, 32], FP32, space=Acc)
_ROW, _OUT, _LINE = tile([1, 8], FP16, space=Left), tile([1, 32], FP32, space=Acc), tile([1, 32], FP32, space=Bias)

SAMPLES: dict[str, dict[str, Any]] = {
    "tile.load": {
        "tensor": tensor([16, 64]),
        "offsets": [N, 0],
        "shapes": [8, 64],
        "valid_shape": [8, 32],
        "target_memory": Mat,
        "clamp": True,
    },
    "tile.store": {
        "tile": tile([6, 8]),
        "offsets": [0, N, 0],
        "output_tensor": tensor([4, 6, 8]),
        "shapes": [2, 3, 8],
        "atomic": AtomicType.Add,
    },
    "tile.create": {"shape": [8, 16], "dtype": FP32, "target_memory": Mat, "transpose": False, "flat_layout": True},
    "tensor.create": {"shape": [N, 16], "dtype": FP32, "layout": TensorLayout.DN, "manual_dep": True, "init_value": 1.5},
    "tile.full": {"shape": [8, 16], "dtype": FP32, "value": 1},
    "tensor.full": {"shape": [8, 16], "dtype": FP32, "value": 2.5},
    "tile.move": {"tile": tile([8, 16]), "target_memory": Mat, "blayout": TileLayout.row_major, "slayout": TileLayout.none_box},
    "tile.alloc": {"memory_space": Mat, "size": 1024, "pinned": True},
    "tensor.alloc": {"memory_space": MemorySpace.DDR, "size": 1024},
    "tile.set_validshape": {"tile": tile([8, 16]), "valid_rows": N, "valid_cols": 3},
    "tensor.set_validshape": {"tensor": tensor([8, 16]), "valid_rows": N, "valid_cols": 3},
    "tile.fillpad": {"tile": tile([8, 16], valid=[4, 5]), "pad_value": PadValue.max},
    "tensor.fillpad": {"tensor": tensor([8, 16], valid=[4, 5]), "pad_value": PadValue.min},
    "tile.fillpad_inplace": {"tile": tile([8, 16], valid=[4, 5]), "pad_value": PadValue.zero},
    "tile.fillpad_expand": {"tile": tile([8, 16]), "shape": [8, 32], "pad_value": PadValue.max},
    "tensor.fillpad_expand": {"tensor": tensor([8, 16]), "shape": [16, 16], "pad_value": PadValue.max},
    "tile.ci": {"start": 5, "shape": [1, 32], "dtype": DataType.UINT16, "descending": True},
    "tensor.ci": {"start": 5, "shape": [32], "dtype": DataType.INT16, "descending": True},
    "tile.tri": {"diagonal": 1, "shape": [8, 8], "valid_shape": [4, N], "dtype": FP32, "upper": True},
    "tile.random": {
        "key0": 1,
        "key1": 2,
        "counter0": 3,
        "counter1": 4,
        "counter2": 5,
        "counter3": 6,
        "shape": [8, 16],
        "valid_shape": [8, N],
        "dtype": INT32,
        "rounds": 7,
    },
    "tensor.random": {
        "key0": 1,
        "key1": 2,
        "counter0": 3,
        "counter1": 4,
        "counter2": 5,
        "counter3": 6,
        "shape": [8, 16],
        "dtype": INT32,
        "rounds": 7,
    },
    "tile.reshape": {"tile": tile([8, 16]), "shape": [16, 8]},
    "tensor.reshape": {"tensor": tensor([8, 16]), "shape": [16, 8], "valid_shape": [N, 8]},
    "tile.reinterpret_view": {"data": tile([8, 16]), "dtype": FP16, "shape": [16, 16]},
    "tensor.reinterpret_view": {"data": tensor([8, 16]), "dtype": DataType.UINT8, "shape": [8, 64]},
    "tensor.view": {"tensor": tensor([2, 4, 8]), "shape": [8, 8], "valid_shape": [N, 8], "layout": TensorLayout.DN},
    "tile.transpose": {"tile": tile([8, 16]), "axis1": 0, "axis2": -1, "tmp_tile": tile([8, 16])},
    "tensor.transpose": {"tensor": tensor([8, 16]), "axis1": 0, "axis2": 1, "valid_shape": [16, N]},
    "tile.transpose_view": {"tile": tile([8, 16], space=Mat)},
    "tile.slice": {
        "tile": tile([4, 8, 16]),
        "shape": [1, 4, 8],
        "offset": [N, 0, 8],
        "valid_shape": [1, N, 8],
        "drop_dims": [0],
        "pad_value": PadValue.zero,
    },
    "tensor.slice": {
        "tensor": tensor([4, 8, 16]),
        "shape": [1, 4, 8],
        "offset": [N, 0, 8],
        "valid_shape": [1, N, 8],
        "drop_dims": [0],
        "pad_value": PadValue.zero,
        "clamp": True,
    },
    "tile.extract": {"src": tile([8, 16]), "index_row": N, "index_col": 4, "shape": [4, 8], "target_memory": Mat},
    "tile.assemble": {"target": tile([8, 16]), "source": tile([4, 8]), "offset": [N, 8]},
    "tensor.assemble": {"target": tensor([8, 16]), "source": tensor([4, 8]), "offset": [N, 8], "atomic": AtomicType.Add},
    "tile.concat": {"src0": tile([8, 16]), "src1": tile([8, 4])},
    "tensor.concat": {"src0": tensor([8, 16]), "src1": tensor([8, 4])},
    "tensor.expand_clone": {"src": tensor([4, 1, 8]), "target": tensor([4, 6, 8])},
    "tile.read": {"tile": tile([8, 16]), "indices": [N, 3]},
    "tensor.read": {"tensor": tensor([8, 16]), "indices": [N, 3]},
    "tile.write": {"tile": tile([8, 16]), "indices": [N, 3], "value": 1},
    "tensor.write": {"tensor": tensor([8]), "indices": 3, "value": 1.5},
    "tensor.dim": {"tensor": tensor([8, 16]), "axis": -1},
    **{f"{s}.{p}": {} for s in ("tile", "tensor") for p in ("get_block_idx", "get_subblock_idx", "get_block_num")},
    "array.create": {"extent": 4, "dtype": INT32},
    "array.get_element": {"array": array(4), "index": N},
    "array.update_element": {"array": array(4), "index": 2, "value": 7},
    **{
        f"tile.row_{k}": {"tile": tile([8, 16]), "tmp_tile": tile([8, 16])}
        for k in ("sum", "max", "min", "prod", "argmax", "argmin")
    },
    **{f"tile.col_{k}": {"tile": tile([8, 16]), "tmp_tile": tile([8, 16])} for k in ("sum", "argmax", "argmin")},
    **{f"tile.col_{k}": {"tile": tile([8, 16])} for k in ("max", "min", "prod")},
    **{
        f"tensor.{a}_{k}": {"input": tensor([8, 16])}
        for a in ("row", "col")
        for k in ("sum", "max", "min", "prod", "argmax", "argmin")
    },
    "tile.row_expand": {"target": tile([8, 16]), "row_vec": tile([8, 1])},
    "tile.col_expand": {"target": tile([8, 16]), "col_vec": tile([1, 16])},
    "tensor.row_expand": {"tensor": tensor([8, 16]), "vec": tensor([8, 1])},
    "tensor.col_expand": {"tensor": tensor([8, 16]), "vec": tensor([1, 16])},
    "tile.row_expand_add": {"tile": tile([8, 16]), "row_vec": tile([8, 1]), "tmp": tile([8, 16])},
    "tensor.row_expand_add": {"tensor": tensor([8, 16]), "vec": tensor([8, 1])},
    "tile.col_expand_add": {"tile": tile([8, 16]), "col_vec": tile([1, 16])},
    "tensor.col_expand_add": {"tensor": tensor([8, 16]), "vec": tensor([1, 16])},
    **{
        f"tile.{a}_expand_{k}": {"tile": tile([8, 16]), f"{a}_vec": tile([8, 1] if a == "row" else [1, 16])}
        for a in ("row", "col")
        for k in ("sub", "mul", "div", "max", "min", "expdif")
    },
    **{
        f"tensor.{a}_expand_{k}": {"tensor": tensor([8, 16]), "vec": tensor([8, 1] if a == "row" else [1, 16])}
        for a in ("row", "col")
        for k in ("sub", "mul", "div", "max", "min", "expdif")
    },
    "tile.expands": {"target": tile([8, 16]), "scalar": 3},
    "tensor.expands": {"target": tensor([8, 16]), "scalar": 3.5},
    "tile.matmul": {"lhs": _LEFT, "rhs": _RIGHT},
    "tile.matmul_acc": {"acc": _SUM, "lhs": _LEFT, "rhs": _RIGHT, "init_cond": scalar("c", BOOL)},
    "tile.matmul_bias": {"lhs": _LEFT, "rhs": _RIGHT, "bias": _LINE},
    "tile.batch_matmul": {"lhs": tile([3, 16, 8], FP16, space=Left), "rhs": _RIGHT},
    "tile.batch_matmul_acc": {
        "acc": tile([3, 16, 32], FP32, space=Acc),
        "lhs": tile([3, 16, 8], FP16, space=Left),
        "rhs": tile([1, 8, 32], FP16, space=Right),
    },
    "tile.gemv": {"lhs": _ROW, "rhs": _RIGHT, "acc_phase": "partial"},
    "tile.gemv_acc": {"acc": _OUT, "lhs": _ROW, "rhs": _RIGHT, "acc_phase": "final"},
    "tile.gemv_bias": {"lhs": _ROW, "rhs": _RIGHT, "bias": _LINE, "acc_phase": "final"},
    "tensor.matmul": {
        "lhs": tensor([8, 16], FP16),
        "rhs": tensor([32, 8], FP16),
        "out_dtype": FP32,
        "a_trans": True,
        "b_trans": True,
        "c_matrix_nz": True,
    },
    "tensor.matmul_acc": {
        "acc": tensor([16, 32]),
        "lhs": tensor([8, 16], FP16),
        "rhs": tensor([32, 8], FP16),
        "a_trans": True,
        "b_trans": True,
        "init_cond": True,
    },
    "tile.gather": {"src": tile([8, 16]), "indices": tile([4, 8], INT32), "tmp": tile([8, 16])},
    "tensor.gather": {"input": tensor([8, 16]), "dim": -1, "index": tensor([8, 4], INT32)},
    "tile.gather_mask": {"src": tile([8, 16]), "mask_pattern": MaskPattern.P0101, "output_dtype": INT32},
    "tensor.gather_mask": {"input": tensor([8, 16]), "mask_pattern": 3, "output_dtype": INT32},
    "tile.gather_row": {
        "dst": tile([8, 16]),
        "src_tensor": tensor([64, 16]),
        "dst_offset": [0, 0],
        "src_offset": [N, 0],
        "shapes": [8, 8],
        "transpose": True,
        "valid_shape": [N, 8],
    },
    "tensor.scatter": {"input": tensor([8, 16]), "dim": 1, "index": tensor([8, 4], INT32), "src": tensor([8, 4])},
    **{
        f"{s}.scatter_update": {"input": make([64, 16]), "dim": -2, "index": make([2, 4], INT32), "src": make([8, 16])}
        for s, make in (("tile", tile), ("tensor", tensor))
    },
    "tile.mscatter": {"src": tile([4, 8]), "idx": tile([4, 8], INT32), "output_tensor": tensor([64, 16])},
    **{
        f"{s}.sort32": {"src": make([2, 64]), "idx": make([1, 64], DataType.UINT32)}
        for s, make in (("tile", tile), ("tensor", tensor))
    },
    **{f"{s}.mrgsort_format1": {"src0": make([2, 512]), "block_len": 64} for s, make in (("tile", tile), ("tensor", tensor))},
    "system.task_invalid": {},
    "system.task_dummy": {},
    "system.task_is_valid": {"task": scalar("t", TASK)},
    **{f"system.{k}": {} for k in ("bar_v", "bar_m", "bar_all", "fence", "available_cluster_count", "available_aiv_count")},
    "system.cacheinvalid": {"tensor": tensor([8, 16]), "shapes": [8, 16], "offsets": [0, N]},
    "system.syncall": {"core_type": "mix", "mode": "soft", "gm_workspace": tensor([64], INT32), "used_cores": 4},
    "system.sync_src": {"set_pipe": PipeType.MTE2, "wait_pipe": PipeType.V, "event_id": 0},
    "system.sync_dst": {"set_pipe": PipeType.MTE2, "wait_pipe": PipeType.V, "event_id": 1},
    "system.sync_set": {"event_id": N, "pipe": PipeType.M, "ffts_mode": 2},
    "system.sync_wait": {"event_id": 1, "pipe": PipeType.M},
    "system.set_ffts": {"workspace": tensor([64], INT32)},
    "system.reserve_buffer": {"name": "slots", "size": 4096, "base": 0},
    "system.import_peer_buffer": {"name": "slots", "peer_func": "cube"},
    **{
        f"system.{k}_initialize_pipe": {
            "c2v_consumer_buf": scalar("b", INT32),
            "v2c_consumer_buf": 0,
            "dir_mask": 3,
            "slot_size": 1024,
            "slot_num": 2,
            "local_slot_num": 2,
            "id": 1,
        }
        for k in ("aic", "aiv")
    },
}
