"""``pypto.pypto_core.arith``: arithmetic on integer expressions."""

from pypto.ir.arith import *
