"""``python -m pypto``."""

from importlib import import_module

import_module("pypto.cli").main()
