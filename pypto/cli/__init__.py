"""The ``pypto`` command."""

from __future__ import annotations


def main() -> None:
    """Run the command line."""
    from pypto.cli.commands import run_command_line

    run_command_line()
