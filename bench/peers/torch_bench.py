"""Shared by the programs in this folder that time models in PyTorch and in this library.

A program has a table of models, a function that builds one of them, a list of cases (model, task,
batch), and calls main. Written for Debian's python3-torch (run it with /usr/bin/python3).

PyTorch is used at its best: each case runs in a process of its own, with Debian's openblas
(libopenblas0-openmp) and jemalloc (libjemalloc2) preloaded if they are installed, or found under
--libraries; jemalloc keeps freed memory, and openblas is told the processor type, which it does not
always detect. AdamW works on lists of tensors; inference is timed both as written and traced and
frozen, and the faster of the two counts. Data are random; the loss is cross-entropy.

Each round times PyTorch, then `ssm2d bench train|infer --mixer none --json`. The ratio of images
per second is taken within a round, and the median over all rounds is printed."""
import argparse
import glob
import json
import os
import resource
import statistics
import subprocess
import sys
import time

PRELOADS = {"openblas": "usr/lib/*/openblas-openmp/libopenblas.so.0",
            "jemalloc": "usr/lib/*/libjemalloc.so.2"}


# ---- a process with PyTorch ----------------------------------------------------------------------

def training_step(torch, model, images, classes: int):
    labels = torch.randint(classes, (len(images),))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.05, foreach=True)

    def step():
        optimizer.zero_grad(set_to_none=True)
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()

    return [step]


def inference_runs(torch, model, images):
    model.eval()
    with torch.no_grad():
        frozen = torch.jit.optimize_for_inference(torch.jit.freeze(torch.jit.trace(model, images)))
        expected = model(images)
        for _ in range(3):  # it compiles itself in the first runs
            found = frozen(images)
        if float((found - expected).abs().max() / expected.abs().max()) > 1e-3:
            sys.exit("the frozen model does not compute the same")

    def run(function):
        with torch.inference_mode():
            function(images)

    return [lambda: run(model), lambda: run(frozen)]


def count_parameters(model, expected: int):
    """Returns the model if it has as many parameters as it should."""
    count = sum(p.numel() for p in model.parameters())
    if count != expected:
        sys.exit(f"the model has {count} parameters, not {expected}")
    return model


def serve(build, numbers: dict, task: str, batch: int, threads: int) -> None:
    """Reads a number of seconds from each line of standard input, runs the model for so long, and
    prints a line of JSON."""
    import torch
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    model = count_parameters(build(torch, **numbers), numbers["parameters"])
    images = torch.randn(batch, 3, numbers["image"], numbers["image"])
    if task == "train":
        ways = training_step(torch, model, images, numbers["classes"])
    else:
        ways = inference_runs(torch, model, images)
    for way in ways:  # to warm up memory and caches
        way()
        way()
    for line in sys.stdin:
        medians = []
        for way in ways:
            times, start = [], time.perf_counter()
            while len(times) < 3 or time.perf_counter() - start < float(line) / len(ways):
                before = time.perf_counter()
                way()
                times.append(time.perf_counter() - before)
            medians.append(statistics.median(times))
        rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
        way = "frozen" if medians.index(min(medians)) else "as written"
        print(json.dumps({"torch": torch.__version__, "images_per_s": batch / min(medians),
                          "step_ms": 1e3 * min(medians), "way": way, "peak_rss_mb": rss}),
              flush=True)


# ---- rounds --------------------------------------------------------------------------------------

def preloads(root: str) -> dict:
    """Returns the path of each library, or None."""
    return {name: next(iter(sorted(glob.glob(os.path.join(root, pattern)))), None)
            for name, pattern in PRELOADS.items()}


def core_type() -> str:
    """Returns which of openblas's kernels are best on this processor."""
    with open("/proc/cpuinfo") as file:
        flags = file.read()
    if os.environ.get("SSM2D_CPU") != "avx2" and "avx512f" in flags:
        return "SKYLAKEX"
    return "ZEN" if "AuthenticAMD" in flags else "HASWELL"


class Torch:
    def __init__(self, case: tuple, a):
        environment = dict(os.environ, OMP_NUM_THREADS=str(a.threads))
        found = [path for path in preloads(a.libraries).values() if path and not a.as_installed]
        if found:
            environment.update(LD_PRELOAD=":".join(found), OPENBLAS_CORETYPE=core_type(),
                               MALLOC_CONF="dirty_decay_ms:-1,muzzy_decay_ms:-1")
        command = [sys.executable, os.path.abspath(sys.argv[0]), "--serve", *map(str, case),
                   "--threads", str(a.threads)]
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def run_for(self, seconds: float) -> dict:
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit("the process with PyTorch ended early")
        return json.loads(line)

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def run_tool(case: tuple, a) -> dict:
    model, task, batch = case
    command = [a.tool, "bench", task, "--json", "--quick", "--mixer", "none", "--model", model,
               "--batch", str(batch), "--threads", str(a.threads)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def median_of(results: list, key: str) -> float:
    return statistics.median(result[key] for result in results)


def measure(case: tuple, goals: dict, a) -> dict:
    peer, ours = Torch(case, a), []
    theirs = []
    try:
        for _ in range(a.rounds):
            theirs.append(peer.run_for(1 if a.quick else 4))
            if a.tool:
                ours.append(run_tool(case, a))
    finally:
        peer.close()
    keys = "images_per_s", "step_ms", "peak_rss_mb"
    result = {"model": case[0], "task": case[1], "batch": case[2], "threads": a.threads,
              "torch": {"version": theirs[0]["torch"], "way": theirs[-1]["way"],
                        **{key: median_of(theirs, key) for key in keys}}}
    if a.tool:
        result["ssm2d"] = {key: median_of(ours, key) for key in (*keys, "sgemm_share")}
        result["images_per_s_ratio"] = statistics.median(
            o["images_per_s"] / t["images_per_s"] for o, t in zip(ours, theirs))
        result["peak_rss_ratio"] = result["ssm2d"]["peak_rss_mb"] / result["torch"]["peak_rss_mb"]
        result["goal"] = goals.get(case)
    return result


def show(r: dict) -> None:
    print(f"{r['model']} {r['task']}, batch {r['batch']}:")
    for name in ("torch", "ssm2d"):
        if name in r:
            t = r[name]
            print(f"  {name:6} {t['images_per_s']:9.1f} images/s  {t['step_ms']:9.2f} ms"
                  f"  {t['peak_rss_mb']:7.0f} MB"
                  + (f"  ({t['way']})" if name == "torch" else ""))
    if "ssm2d" in r:
        goal = f" (goal: {r['goal']})" if r["goal"] else ""
        print(f"  ssm2d is {r['images_per_s_ratio']:.2f} times as fast{goal}"
              f" with {r['peak_rss_ratio']:.2f} times the memory",
              flush=True)


def main(models: dict, build, cases: list, goals: dict, about: str) -> None:
    """models: for each name the arguments of build, among them image, classes and parameters;
    build(torch, ..): the model; goals: of some cases, the ratio of images per second to reach."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--tool", help="the ssm2d command to time beside PyTorch")
    parser.add_argument("--model", choices=[*models, "all"], default="all")
    parser.add_argument("--task", choices=["train", "infer", "all"], default="all")
    parser.add_argument("--batch", type=int, help="images per batch, instead of the cases' own")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, help="number of rounds (default: 5; --quick: 2)")
    parser.add_argument("--quick", action="store_true", help="short rounds, less accurate")
    parser.add_argument("--as-installed", action="store_true", help="preload nothing")
    parser.add_argument("--libraries", default="/", help="where the usr/lib to preload from is")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--serve", nargs=3, help=argparse.SUPPRESS)  # the process with PyTorch
    a = parser.parse_args()
    if a.serve:
        name, task, batch = a.serve
        serve(build, models[name], task, int(batch), a.threads)
        return
    a.rounds = a.rounds or (2 if a.quick else 5)
    cases = [c for c in cases if a.model in (c[0], "all") and a.task in (c[1], "all")]
    if a.batch:
        cases = list(dict.fromkeys((model, task, a.batch) for model, task, _ in cases))
    found = {name: None if a.as_installed else path
             for name, path in preloads(a.libraries).items()}
    missing = "not used" if a.as_installed else "not found"
    shown = ", ".join(f"{name}: {path or missing}" for name, path in found.items())
    print(f"preloaded for PyTorch: {shown}", file=sys.stderr if a.json else sys.stdout, flush=True)
    results = []
    for case in cases:
        results.append(measure(case, goals, a))
        if not a.json:
            show(results[-1])
    if a.json:
        print(json.dumps({"preloaded": found, "rounds": a.rounds, "cases": results}))
