"""``pypto.ir.printer``."""

from pypto.printer import python_print, register_format_callback

__all__ = ["python_print", "register_format_callback"]
