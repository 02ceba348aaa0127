#!/usr/bin/env python3
"""Trains vit-mini on Fashion-MNIST with and without the layer; prints the table of docs/RESULTS.md.

    bench/accuracy/fashion_mnist.py --tool build/release/tools/ssm2d --out runs
                                    [--epochs 2] [--seeds 0 1 2] [--jobs 2]

There is one run per row and seed, in OUT/NAME-SEED. Complete runs are kept and interrupted ones are
resumed, so that the same command can be repeated; --table prints the table without training. With
--jobs N, N runs at a time have one thread each, which is faster than one run after the other and
gives the same results to the bit."""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import threading

NO_PE = ["--set", "pos_embed=false"]
COMPLEX = ["--set", "mixer.values=polar"]
LAYER_NORM = ["--set", "mixer.layer_norm=true"]
INIT_AUTHORS = ["--set", "mixer.init=authors"]
AUTHORS = ["--set", "mixer.assign=authors"]
DISTINCT = ["--set", "mixer.assign=distinct"]
# name of the run, mixer, position embedding, assignment of systems, initial values, LayerNorm of
# the mixer, options
REAL, POLAR = "2-D SSM, real", "2-D SSM, complex"
ROWS = [("plain", "none", "yes", "", "", "", ["--mixer", "none"]),
        ("ssm-ln", REAL, "yes", "authors", "identity", "yes", AUTHORS + LAYER_NORM),
        ("ssm-complexln", POLAR, "yes", "authors", "identity", "yes",
         AUTHORS + COMPLEX + LAYER_NORM),
        ("ssm", REAL, "yes", "authors", "identity", "no", AUTHORS),
        ("ssm-complex", POLAR, "yes", "authors", "identity", "no", AUTHORS + COMPLEX),
        ("plain-nope", "none", "no", "", "", "", ["--mixer", "none", *NO_PE]),
        ("ssm-nope-ln", REAL, "no", "authors", "identity", "yes", NO_PE + AUTHORS + LAYER_NORM),
        ("ssm-nope-complexln", POLAR, "no", "authors", "identity", "yes",
         NO_PE + AUTHORS + COMPLEX + LAYER_NORM),
        ("ssm-nope", REAL, "no", "authors", "identity", "no", NO_PE + AUTHORS),
        ("ssm-nope-complex", POLAR, "no", "authors", "identity", "no", NO_PE + AUTHORS + COMPLEX),
        ("ssm-nope-distinct", REAL, "no", "distinct", "identity", "no", NO_PE + DISTINCT),
        ("ssm-nope-complexdistinct", POLAR, "no", "distinct", "identity", "no",
         NO_PE + DISTINCT + COMPLEX),
        ("ssm-nope-authors", REAL, "no", "authors", "authors", "no",
         NO_PE + AUTHORS + INIT_AUTHORS),
        ("ssm-nope-complexauthors", POLAR, "no", "authors", "authors", "no",
         NO_PE + AUTHORS + COMPLEX + INIT_AUTHORS)]


def epochs_of(run: pathlib.Path) -> list:
    path = run / "metrics.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return [line["test_accuracy"] for line in lines if "test_accuracy" in line]


def work(todo: list, lock: threading.Lock, a, failed: list) -> None:
    while True:
        with lock:
            if not todo or failed:
                return
            name, seed, options = todo.pop(0)
            print(f"{name}, seed {seed}: {len(todo)} runs after it", file=sys.stderr)
        run = a.out / f"{name}-{seed}"
        if (run / "train.json").exists():
            command = [a.tool, "train", "--resume", run]
        else:
            command = [a.tool, "train", "--data", "fashion-mnist", "--epochs", a.epochs,
                       "--seed", seed, *options, "--out", run]
        threads = "0" if a.jobs == 1 else "1"
        done = subprocess.run([*map(str, command), "--threads", threads],
                              stdout=subprocess.DEVNULL)
        if done.returncode:
            failed.append(f"{run}: {a.tool} ended with {done.returncode}")


def print_table(a) -> None:
    print("| mixer | position embedding | assign | initial values | its LayerNorm "
          "| test accuracy, % | seeds | options |\n"
          "|---|---|---|---|---|---|---|---|")
    for name, mixer, embedding, assign, values, norm, options in ROWS:
        last = [100 * e[a.epochs - 1] for s in a.seeds
                if len(e := epochs_of(a.out / f"{name}-{s}")) >= a.epochs]
        if not last:
            continue
        shown = f"`{' '.join(options)}`" if options else ""
        spread = f" ± {statistics.stdev(last):.2f}" if len(last) > 1 else ""
        print(f"| {mixer} | {embedding} | {assign} | {values} | {norm} "
              f"| {statistics.mean(last):.2f}{spread} | "
              f"{', '.join(f'{x:.2f}' for x in last)} | {shown} |")


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--tool", default="build/release/tools/ssm2d", help="the ssm2d command")
    p.add_argument("--out", type=pathlib.Path, default=pathlib.Path("runs"),
                   help="folder for the runs")
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    p.add_argument("--jobs", type=int, default=1, help="number of runs at a time")
    p.add_argument("--table", action="store_true", help="print the table without training")
    a = p.parse_args()
    todo = [(name, seed, options) for seed in a.seeds for name, *_, options in ROWS
            if len(epochs_of(a.out / f"{name}-{seed}")) < a.epochs]
    failed = []
    if not a.table and todo:
        a.out.mkdir(parents=True, exist_ok=True)
        lock = threading.Lock()
        threads = [threading.Thread(target=work, args=(todo, lock, a, failed))
                   for _ in range(a.jobs)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    print_table(a)
    for line in failed:
        print(line, file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
