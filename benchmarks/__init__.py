"""Speed and memory, as ratios on one machine in one run: ``python -m benchmarks`` prints the table with its limits."""
