"""CommDomainScopesMaterialized: communication domains list the windows that their ranks share."""

from __future__ import annotations

from typing import Any

from pypto.diagnostics import Diagnostic
from pypto.ir.expr import WindowBuffer
from pypto.ir.function import Program
from pypto.ir.stmt import CommDomainScopeStmt
from pypto.ir.verify.report import Findings
from pypto.ir.verify.walk import statements


def verify_comm_domain_scopes(program: Program) -> list[Diagnostic]:
    """Report domains without windows (``comm-domain-empty``), entries that are no windows (``comm-domain-slot``), and windows that
    belong to two domains of the program or to one twice (``comm-domain-shared``)."""
    found: list[Diagnostic] = []
    owners: dict[WindowBuffer, CommDomainScopeStmt] = {}
    for function in program.functions.values():
        findings = Findings("CommDomainScopesMaterialized", function)
        for stmt in statements(function.body):
            if not isinstance(stmt, CommDomainScopeStmt):
                continue
            name = stmt.name_hint
            if not stmt.slots:
                findings.add("comm-domain-empty", f"the communication domain {name!r} has no windows", stmt.span)
            slots: list[Any] = [*stmt.slots]
            for slot in slots:
                if not isinstance(slot, WindowBuffer):
                    findings.add(
                        "comm-domain-slot", f"the communication domain {name!r} lists something that is no window", stmt.span
                    )
                elif slot in owners:
                    other = owners[slot]
                    text = f"the window {slot.name_hint!r} appears in multiple communication domains: {other.name_hint!r} and {name!r}"
                    findings.add("comm-domain-shared", text, stmt.span, related=[(other.span, "the other domain")])
                else:
                    owners[slot] = stmt
        found += findings.items
    return found
