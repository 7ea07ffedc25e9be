"""Set-up of the whole suite: nodes refuse a second assignment to their fields."""

from __future__ import annotations

from pypto.ir.node import freeze_nodes

freeze_nodes()
