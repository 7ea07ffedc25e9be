"""Print the speed table."""

from __future__ import annotations

from benchmarks import bench_host, bench_ranks, bench_run, bench_text


def main() -> None:
    """Measure everything and print each figure with its limit."""
    print(f"{'work':<62} {'measured':>9} {'limit':>7}")
    for module in (bench_text, bench_run, bench_ranks, bench_host):
        for name, measured, limit in module.rows():
            print(f"{name:<62} {measured:>9.2f} {limit:>7.2f}  {'ok' if measured <= limit else 'over'}")


if __name__ == "__main__":
    main()
