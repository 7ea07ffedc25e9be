"""A timeline as a picture: one HTML page that needs nothing else."""

from __future__ import annotations

import html
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from pypto.runtime.checking.timeline import ACCUSED, STUCK, Row, Timeline

_LEFT, _TOP, _ROW, _LANE, _BOX = 56, 48, 34, 390, 350

_STYLE = """
body { font: 14px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 1400px; color: #1c2733; background: #fff; padding: 0 1rem }
pre { background: #f4f6f8; padding: 0.8rem 1rem; overflow-x: auto; border-radius: 4px }
svg { display: block; max-width: 100% }
svg text { font: 12px system-ui, sans-serif; fill: #1c2733 }
.lane { stroke: #d5dce3; stroke-width: 2 }
.head { font-weight: 600; font-size: 14px }
.number { fill: #8794a1 }
.box { fill: #eef3f8; stroke: #b9c6d3 }
.race { fill: #fde4e1; stroke: #c62828; stroke-width: 2 }
.waits { fill: #fff3d6; stroke: #b58105; stroke-width: 2; stroke-dasharray: 4 3 }
.cause { stroke: #4a7fb5; fill: none; stroke-width: 1.4; marker-end: url(#tip) }
.clash { stroke: #c62828; stroke-width: 2; stroke-dasharray: 6 4; fill: none }
""".strip()


def page(title: str, timeline: Timeline | None, texts: Sequence[str] = ()) -> str:
    """The page: a title, texts, and the timeline as a picture."""
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f"<title>{html.escape(title)}</title>",
        f"<style>{_STYLE}</style></head><body>",
        f"<h1>{html.escape(title)}</h1>",
    ]
    parts += [f"<pre>{html.escape(text)}</pre>" for text in texts if text]
    if timeline is not None:
        if timeline.file:
            parts.append(
                f"<p>Lines of <code>{html.escape(timeline.file)}</code>. Time runs down; an arrow leads from what must come first.</p>"
            )
        parts.append(_svg(timeline))
    parts.append("</body></html>")
    return "\n".join(parts) + "\n"


def write_page(path: str | Path, title: str, timeline: Timeline | None, texts: Sequence[str] = ()) -> None:
    """Write :func:`page` to a file."""
    Path(path).write_text(page(title, timeline, texts), encoding="utf-8")


def _x(rank: int) -> int:
    return _LEFT + rank * _LANE


def _y(number: int) -> int:
    return _TOP + number * _ROW


def _svg(timeline: Timeline) -> str:
    width = _LEFT + timeline.ranks * _LANE
    height = _y(len(timeline.rows)) + 12
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" fill="#4a7fb5"/></marker></defs>',
    ]
    for rank in range(timeline.ranks):
        middle = _x(rank) + _BOX // 2
        out.append(f'<line class="lane" x1="{middle}" y1="{_TOP - 12}" x2="{middle}" y2="{height - 8}"/>')
        out.append(f'<text class="head" x="{middle}" y="{_TOP - 20}" text-anchor="middle">rank {rank}</text>')
    for number, row in enumerate(timeline.rows):
        out += [_arrow(timeline.rows, cause, number) for cause in row.causes]
    accused = [n for n, row in enumerate(timeline.rows) if row.mark == ACCUSED]
    for first, second in pairwise(accused):
        out.append(_line("clash", timeline.rows, first, second))
    for number, row in enumerate(timeline.rows):
        out += _box(timeline, number, row)
    out.append("</svg>")
    return "\n".join(out)


def _box(timeline: Timeline, number: int, row: Row) -> list[str]:
    x, y = _x(row.rank), _y(number)
    kind = "race" if row.mark == ACCUSED else "waits" if row.mark == STUCK else "box"
    shown = timeline.shown(row)
    fits = shown if len(shown) <= _LETTERS else shown[: _LETTERS - 1] + "…"
    return [
        f'<text class="number" x="{_LEFT - 12}" y="{y + 18}" text-anchor="end">{number + 1}</text>',
        f"<g><title>{html.escape(shown)} {html.escape(row.line)}</title>"
        f'<rect class="{kind}" x="{x}" y="{y + 3}" width="{_BOX}" height="{_ROW - 8}" rx="4"/>'
        f'<text x="{x + 8}" y="{y + 20}">{html.escape(fits)}</text></g>',
    ]


_LETTERS = 58
"""What fits into a box; the whole text shows when the pointer rests on it."""


def _arrow(rows: Sequence[Row], cause: int, number: int) -> str:
    return _line("cause", rows, cause, number)


def _line(kind: str, rows: Sequence[Row], one: int, other: int) -> str:
    a, b = rows[one].rank, rows[other].rank
    y1, y2 = _y(one) + _ROW // 2, _y(other) + _ROW // 2
    if a == b:
        x = _x(a) - 4
        return f'<path class="{kind}" d="M{x},{y1} C{x - 26},{y1} {x - 26},{y2} {x},{y2}"/>'
    x1, x2 = (_x(a) + _BOX, _x(b)) if a < b else (_x(a), _x(b) + _BOX)
    return f'<line class="{kind}" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>'
