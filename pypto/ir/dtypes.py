"""Element types."""

from __future__ import annotations

from typing import ClassVar, Final


class DataType:
    """One element type; the members (``DataType.FP32`` ...) are the only instances, so identity is equality.

    ``code`` is one byte, ``bits`` the width; INDEX is a signed 64-bit integer kind used for shapes, offsets and loop variables.
    """

    __slots__ = ("_bits", "_c_name", "_code", "_kind", "_name", "_text")

    BOOL: ClassVar[DataType]
    INT4: ClassVar[DataType]
    INT8: ClassVar[DataType]
    INT16: ClassVar[DataType]
    INT32: ClassVar[DataType]
    INT64: ClassVar[DataType]
    INDEX: ClassVar[DataType]
    UINT4: ClassVar[DataType]
    UINT8: ClassVar[DataType]
    UINT16: ClassVar[DataType]
    UINT32: ClassVar[DataType]
    UINT64: ClassVar[DataType]
    FP4: ClassVar[DataType]
    FP8E4M3FN: ClassVar[DataType]
    FP8E5M2: ClassVar[DataType]
    FP16: ClassVar[DataType]
    FP32: ClassVar[DataType]
    FP8E8M0: ClassVar[DataType]
    BF16: ClassVar[DataType]
    HF4: ClassVar[DataType]
    HF8: ClassVar[DataType]
    TASK_ID: ClassVar[DataType]
    DEFAULT_CONST_INT: ClassVar[DataType]
    DEFAULT_CONST_FLOAT: ClassVar[DataType]

    def __init__(self, name: str, code: int, bits: int, kind: str, text: str, c_name: str) -> None:
        self._name = name
        self._code = code
        self._bits = bits
        self._kind = kind
        self._text = text
        self._c_name = c_name

    @property
    def name(self) -> str:
        """The member name, as printed programs spell it after ``pl.``."""
        return self._name

    @property
    def code(self) -> int:
        """The one-byte code."""
        return self._code

    def get_bit(self) -> int:
        """Width in bits."""
        return self._bits

    def get_byte(self) -> int:
        """Width in bytes, rounded up."""
        return (self._bits + 7) // 8

    def to_string(self) -> str:
        """The lower-case name, for instance ``fp32``."""
        return self._text

    def to_c_type_string(self) -> str:
        """The C spelling of the element type."""
        return self._c_name

    def is_float(self) -> bool:
        """True for every floating-point kind."""
        return self._kind == "float"

    def is_signed_int(self) -> bool:
        """True for signed integers, INDEX included."""
        return self._kind == "int"

    def is_unsigned_int(self) -> bool:
        """True for unsigned integers."""
        return self._kind == "uint"

    def is_int(self) -> bool:
        """True for signed and unsigned integers; BOOL is neither."""
        return self._kind in ("int", "uint")

    def __repr__(self) -> str:
        return f"DataType.{self._name}"

    def __str__(self) -> str:
        return self._text

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (_member, (self._name,))

    def __copy__(self) -> DataType:
        return self

    def __deepcopy__(self, memo: object) -> DataType:
        return self


def _member(name: str) -> DataType:
    return DTYPES[name]


# name, code, bits, kind, lower-case text, C type
_TABLE: Final = (
    ("BOOL", 0x00, 1, "bool", "bool", "bool"),
    ("INT4", 0x10, 4, "int", "int4", "int4_t"),
    ("INT8", 0x11, 8, "int", "int8", "int8_t"),
    ("INT16", 0x12, 16, "int", "int16", "int16_t"),
    ("INT32", 0x13, 32, "int", "int32", "int32_t"),
    ("INT64", 0x14, 64, "int", "int64", "int64_t"),
    ("INDEX", 0x15, 64, "int", "index", "int64_t"),
    ("UINT4", 0x20, 4, "uint", "uint4", "uint4_t"),
    ("UINT8", 0x21, 8, "uint", "uint8", "uint8_t"),
    ("UINT16", 0x22, 16, "uint", "uint16", "uint16_t"),
    ("UINT32", 0x23, 32, "uint", "uint32", "uint32_t"),
    ("UINT64", 0x24, 64, "uint", "uint64", "uint64_t"),
    ("FP4", 0x30, 4, "float", "fp4", "float4_e2m1_t"),
    ("FP8E4M3FN", 0x31, 8, "float", "fp8e4m3fn", "float8_e4m3_t"),
    ("FP8E5M2", 0x32, 8, "float", "fp8e5m2", "float8_e5m2_t"),
    ("FP16", 0x33, 16, "float", "fp16", "half"),
    ("FP32", 0x34, 32, "float", "fp32", "float"),
    ("FP8E8M0", 0x36, 8, "float", "fp8e8m0", "float8_e8m0_t"),
    ("BF16", 0x40, 16, "float", "bfloat16", "bfloat16_t"),
    ("HF4", 0x41, 4, "float", "hf4", "hifloat4_t"),
    ("HF8", 0x42, 8, "float", "hf8", "hifloat8_t"),
    ("TASK_ID", 0x50, 64, "handle", "task_id", "uint64_t"),
)

DTYPES: Final[dict[str, DataType]] = {row[0]: DataType(*row) for row in _TABLE}
"""Every element type by member name."""

for _name, _dtype in DTYPES.items():
    setattr(DataType, _name, _dtype)
DataType.DEFAULT_CONST_INT = DataType.INT64
DataType.DEFAULT_CONST_FLOAT = DataType.FP32


def is_index_like(dtype: DataType) -> bool:
    """INT64, UINT64 and INDEX: what shapes, offsets and extents accept."""
    return dtype is DataType.INDEX or dtype is DataType.INT64 or dtype is DataType.UINT64


def promote(left: DataType, right: DataType) -> DataType:
    """The common element type: float beats integer, wider beats narrower, signed beats unsigned on a tie, else the left one."""
    if left is right:
        return left
    if left.is_float() != right.is_float():
        return left if left.is_float() else right
    if left.get_bit() != right.get_bit():
        return left if left.get_bit() > right.get_bit() else right
    if left.is_unsigned_int() and right.is_signed_int():
        return right
    return left
