#!/usr/bin/env python3
"""Times inference of vision transformers in ONNX Runtime and in this library.

    bench/peers/onnxruntime_vit.py --tool build/release/tools/ssm2d --install [--json] [--quick]
                                   [--model vit] [--batch 1] [--mixer ssm2d] [--root ROOT]

Written for Debian's python3-torch and python3-onnx (run it with /usr/bin/python3). The library is
that of npm's package onnxruntime-node, which --install puts into a folder of the user's
(--onnxruntime; a cache by default), without running any of its scripts. With --root, a Debian 13
that debian13.sh has made, models in 8 bits are timed as well: ONNX Runtime's own tools there
quantize the plain form in every way that they have (onnx_quantize.py).

ONNX Runtime is used at its best: shapes are fixed, graphs are optimised at level `all`, input and
output are bound once, and a session has as many threads as ours. Each part of the model is tried
in every form that onnx_export.py knows (plain operators, and those of com.microsoft), and threads
with and without spinning; the faster one is kept. Times are taken in alternation, and their ratios
go to standard error. Before it is timed, the logits of each form are compared with PyTorch's, and
so are those of `ssm2d run` with the same weights.

Each round times ONNX Runtime, then `ssm2d bench infer --json`. The ratio of images per second is
taken within a round, and the median over all rounds is printed, beside the model as it is published
and beside one whose last block works on CLS alone after its attention. This library always leaves
out the other tokens there; an exported model does so only if it was exported that way. In 8 bits
ours is compared with theirs in float32 and in 8 bits."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import onnx_export
import onnxruntime_library
from torch_bench import command_in
from torch_vit import MODELS

CASES = [("vit", 128), ("vit", 1), ("deit-t", 32), ("deit-t", 1)]
# ours in float32 beside theirs; in 8 bits: beside theirs in float32 and in 8 bits
GOALS = {("vit", 128): 1.7, ("vit", 1): 1.5, ("deit-t", 32): 1.7, ("deit-t", 1): 1.4}
GOALS_INT8 = {("vit", 128): (2, 1.3), ("deit-t", 32): (2, 1.3)}
D_STATE = {"vit": 16, "deit-t": 4}  # of the models' own mixers
# Of float; forms differ in the order of sums.
TOLERANCE = 1e-4
TOLERANCE_INT8 = 0.5  # of random weights and ranges of random images: only nonsense is refused


# ---- processes with PyTorch and with ONNX Runtime ------------------------------------------------

def form_name(form: dict) -> str:
    return "-".join(form[part] for part in onnx_export.PARTS)


def all_forms() -> list:
    """The plain form, and every form that differs from it in one part; the rest follows on
    demand."""
    plain = onnx_export.PLAIN
    return [plain] + [dict(plain, **{part: way}) for part, ways in onnx_export.PARTS.items()
                      for way in ways[1:]]


def numbers_of(model: str) -> dict:
    return dict(MODELS[model], d_state=D_STATE[model])


def export(folder: str, model: str, batch: int, mixer: bool, forms: list) -> None:
    """Writes FORM.onnx for each form; unless they are there, also what they are checked with."""
    import numpy
    import torch
    numbers = numbers_of(model)
    torch.manual_seed(1)
    images = torch.randn(batch, 3, numbers["image"], numbers["image"])
    weights = onnx_export.random_weights(numpy, numbers, mixer)
    kernels = onnx_export.two_sided_kernels(numpy, weights, numbers) if mixer else None
    plain = {name: array for name, array in weights.items() if ".mixer." not in name}
    expected = os.path.join(folder, "expected.npy")
    if not os.path.exists(expected):
        with torch.no_grad():
            reference = onnx_export.build(torch, numbers, plain, onnx_export.PLAIN, kernels)
            logits = reference(images)
        numpy.save(os.path.join(folder, "images.npy"), images.numpy())
        onnx_export.write_safetensors(os.path.join(folder, "weights.safetensors"), weights)
        with open(os.path.join(folder, "config.json"), "w") as file:
            json.dump(onnx_export.tool_config(numbers, mixer), file)
        numpy.save(expected, logits.numpy())
    for form in forms:
        built = onnx_export.build(torch, numbers, plain, form, kernels)
        onnx_export.write_model(torch, os.path.join(folder, form_name(form) + ".onnx"), built,
                                images)


def difference(numpy, found, expected) -> float:
    """Relative to the largest logit; infinite if some logit is not a number."""
    worst = numpy.abs(found - expected).max() / numpy.abs(expected).max()
    return float(worst) if numpy.isfinite(worst) else float("inf")


def serve(library: str, folder: str, form: str, threads: int, spinning: bool) -> None:
    """Checks the logits and prints a line of JSON; then reads a number of seconds from each line of
    standard input, runs the model for so long, and prints a line of JSON."""
    import numpy
    from onnxruntime_session import Session
    images = numpy.load(os.path.join(folder, "images.npy"))
    expected = numpy.load(os.path.join(folder, "expected.npy"))
    logits = numpy.zeros_like(expected)
    session = Session(library, os.path.join(folder, form + ".onnx"), {"images": images},
                      {"logits": logits}, threads, spinning)
    for _ in range(2):  # to warm up memory and caches
        session.run()
    print(json.dumps({"version": session.version,
                      "difference": difference(numpy, logits, expected)}), flush=True)
    for line in sys.stdin:
        times, start = [], time.perf_counter()
        least = 3 if float(line) >= 1 else 1  # while searching, large batches take long enough
        while len(times) < least or time.perf_counter() - start < float(line):
            before = time.perf_counter()
            session.run()
            times.append(time.perf_counter() - before)
        median = statistics.median(times)
        print(json.dumps({"images_per_s": len(images) / median, "step_ms": 1e3 * median}),
              flush=True)


class Peer:
    """A process with ONNX Runtime and one form of a model."""

    def __init__(self, a, folder: str, form: str, spinning: bool):
        self.name = f"{form}, {'spinning' if spinning else 'sleeping'} threads"
        command = [sys.executable, os.path.abspath(__file__), "--serve", folder, form,
                   "1" if spinning else "0", "--threads", str(a.threads), "--onnxruntime",
                   a.onnxruntime]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        first = self.read()
        self.version = first["version"]
        if first["difference"] > (TOLERANCE_INT8 if "-int8-" in form else TOLERANCE):
            self.close()
            sys.exit(f"{self.name}: logits differ from PyTorch's by {first['difference']:.1e}")

    def read(self) -> dict:
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{self.name}: the process with ONNX Runtime ended early")
        return json.loads(line)

    def run_for(self, seconds: float) -> dict:
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()
        return self.read()

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()


# ---- the fastest form ----------------------------------------------------------------------------

class Search:
    """Looks for the fastest form of one case. Forms are timed in alternation, as the machine's
    speed changes from minute to minute."""

    def __init__(self, a, folder: str, model: str, batch: int):
        self.a, self.folder, self.case = a, folder, (model, batch)
        self.version = None
        self.write(all_forms())

    def write(self, forms: list) -> None:
        model, batch = self.case
        names = [json.dumps(form) for form in forms]
        subprocess.run([sys.executable, os.path.abspath(__file__), "--export", self.folder, model,
                        str(batch), "1" if self.a.mixer != "none" else "0", *names], check=True,
                       stderr=subprocess.DEVNULL if not self.a.verbose else None)

    def faster(self, candidates: list) -> tuple:
        """Returns that of (form, spinning) which takes the shortest time."""
        peers = [Peer(self.a, self.folder, *candidate) for candidate in candidates]
        self.version = peers[0].version
        seconds, rounds = (0.15, 3) if self.a.quick else (0.4, 5)
        times = [[peer.run_for(seconds)["step_ms"] for peer in peers] for _ in range(rounds)]
        scores = [statistics.median(row[i] / row[0] for row in times) for i in range(len(peers))]
        for peer, score in zip(peers, scores):
            peer.close()
            print(f"  {score:6.3f}  {peer.name}", file=sys.stderr, flush=True)
        print(file=sys.stderr)
        return candidates[scores.index(min(scores))]

    def named(self, form: dict) -> str:
        """The name of a form, whose file is written if it is not there."""
        if not os.path.exists(os.path.join(self.folder, form_name(form) + ".onnx")):
            self.write([form])
        return form_name(form)

    def fastest(self, last: str) -> tuple:
        """Returns the form with this last block, and whether threads spin: one part after the
        other is set to what is fastest."""
        best = dict(onnx_export.PLAIN, last=last)
        for part, ways in onnx_export.PARTS.items():
            if part != "last":
                forms = {self.named({**best, part: way}): way for way in ways}
                best[part] = forms[self.faster([(name, True) for name in forms])[0]]
        name = self.named(best)
        return self.faster([(name, True), (name, False)])

    def fastest_int8(self, last: str) -> tuple:
        """The same of models in 8 bits."""
        name = self.named(dict(onnx_export.PLAIN, last=last))
        command = command_in(self.a.root, "onnx_quantize.py", ["/srv", name], {}, self.folder)
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.DEVNULL if not self.a.verbose else None)
        names = done.stdout.split()
        if not names:
            sys.exit("no model in 8 bits could be written: see --verbose")
        name = self.faster([(name, True) for name in names])[0]
        return self.faster([(name, True), (name, False)])


# ---- rounds --------------------------------------------------------------------------------------

def check_tool(a, folder: str) -> float:
    """Compares the logits of `ssm2d run` with PyTorch's; returns the difference."""
    import numpy
    path = {name: os.path.join(folder, name) for name in
            ("config.json", "weights.safetensors", "images.npy", "ours.npy", "expected.npy")}
    command = [a.tool, "run", "--config", path["config.json"], "--weights",
               path["weights.safetensors"], "--input", path["images.npy"], "--out",
               path["ours.npy"]]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    found = difference(numpy, numpy.load(path["ours.npy"]), numpy.load(path["expected.npy"]))
    if found > TOLERANCE:
        sys.exit(f"ssm2d run: logits differ from PyTorch's by {found:.1e}")
    return found


def run_tool(a, model: str, batch: int, precision: str) -> dict:
    command = [a.tool, "bench", "infer", "--json", "--quick", "--mixer", a.mixer, "--model", model,
               "--batch", str(batch), "--threads", str(a.threads), "--precision", precision]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def pairs_of(a, model: str, batch: int) -> list:
    """(our precision, their model, goal) of the ratios that are taken."""
    float32, int8 = GOALS.get((model, batch)), GOALS_INT8.get((model, batch), (None, None))
    if a.mixer != "none":
        float32, int8 = None, (None, None)
    pairs = [("float32", "whole", float32), ("float32", "cls", None)]
    if a.root:
        pairs += [("int8", "whole", int8[0]), ("int8", "cls", None),
                  ("int8", "whole int8", int8[1]), ("int8", "cls int8", None)]
    return pairs


def measure(a, model: str, batch: int) -> dict:
    median, keys = statistics.median, ("images_per_s", "step_ms")
    pairs = pairs_of(a, model, batch)
    with tempfile.TemporaryDirectory() as folder:
        search = Search(a, folder, model, batch)
        ours_difference = check_tool(a, folder)
        chosen = {last: search.fastest(last) for last in onnx_export.PARTS["last"]}
        if a.root:
            chosen.update({last + " int8": search.fastest_int8(last)
                           for last in onnx_export.PARTS["last"]})
        peers = {which: Peer(a, folder, *form) for which, form in chosen.items()}
        theirs, ours = {which: [] for which in peers}, {ours: [] for ours, _, _ in pairs}
        for _ in range(a.rounds):
            for which, peer in peers.items():
                theirs[which].append(peer.run_for(1 if a.quick else 3))
            for precision, results in ours.items():
                results.append(run_tool(a, model, batch, precision))
        for peer in peers.values():
            peer.close()
    return {"model": model, "batch": batch, "mixer": a.mixer, "threads": a.threads,
            "logits_difference": ours_difference,
            "ssm2d": {precision: {key: median(o[key] for o in found) for key in keys}
                      for precision, found in ours.items()},
            "onnxruntime": {which: {"form": peers[which].name, "version": search.version,
                                    **{key: median(t[key] for t in found) for key in keys}}
                            for which, found in theirs.items()},
            "ratios": [{"ssm2d": precision, "onnxruntime": which, "goal": goal,
                        "ratio": median(o["images_per_s"] / t["images_per_s"]
                                        for o, t in zip(ours[precision], theirs[which]))}
                       for precision, which, goal in pairs]}


def show(r: dict) -> None:
    print(f"{r['model']}, mixer {r['mixer']}, batch {r['batch']}; logits agree to"
          f" {r['logits_difference']:.0e}:")
    for precision, t in r["ssm2d"].items():
        print(f"  ssm2d {precision:10} {t['images_per_s']:9.1f} images/s"
              f"  {t['step_ms']:9.2f} ms")
    for which, t in r["onnxruntime"].items():
        print(f"  ORT {t['version']} {which:10} {t['images_per_s']:9.1f} images/s"
              f"  {t['step_ms']:9.2f} ms  ({t['form']})")
    for t in r["ratios"]:
        goal = f" (goal: {t['goal']})" if t["goal"] else ""
        print(f"  {t['ssm2d']} is {t['ratio']:.2f} times as fast as {t['onnxruntime']}{goal}")
    sys.stdout.flush()


def processor() -> str:
    with open("/proc/cpuinfo") as file:
        lines = file.read().split("\n\n")[0].splitlines()
    known = dict(line.split("\t: ", 1) for line in lines if "\t: " in line)
    known = {key.strip(): value for key, value in known.items()}
    flags = known.get("flags", "").split()
    best = "AVX-512" if "avx512f" in flags else "AVX2" if "avx2" in flags else "neither AVX2"
    ours = os.environ.get("SSM2D_CPU", "the best there is")
    return (f"{known.get('model name', 'unknown')}, family {known.get('cpu family', '?')}, model"
            f" {known.get('model', '?')} ({best}); SSM2D_CPU: {ours}")


# ---- options -------------------------------------------------------------------------------------

def find_library(a) -> str:
    try:
        return onnxruntime_library.find(a.onnxruntime, a.install)
    except OSError as error:
        sys.exit(str(error) + ("" if a.install else " (--install does)"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tool", help="the ssm2d command to time beside ONNX Runtime")
    parser.add_argument("--onnxruntime", default=onnxruntime_library.FOLDER,
                        help="the folder that onnxruntime-node is in (default: %(default)s)")
    parser.add_argument("--install", action="store_true", help="install it there if it is not")
    parser.add_argument("--root", help="also time 8 bits; debian13.sh made this folder (as root)")
    parser.add_argument("--model", choices=[*MODELS, "all"], default="all")
    parser.add_argument("--mixer", choices=["none", "ssm2d"], default="none",
                        help="ssm2d: each mixer is a depthwise convolution in ONNX Runtime")
    parser.add_argument("--batch", type=int, help="images per batch, instead of the cases' own")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, help="number of rounds (default: 5; --quick: 2)")
    parser.add_argument("--quick", action="store_true", help="short rounds, less accurate")
    parser.add_argument("--verbose", action="store_true", help="show what PyTorch's exporter says")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--export", nargs="+", help=argparse.SUPPRESS)  # the process with PyTorch
    parser.add_argument("--serve", nargs=3, help=argparse.SUPPRESS)  # that with ONNX Runtime
    a = parser.parse_args()
    if a.export:
        folder, model, batch, mixer, *forms = a.export
        return export(folder, model, int(batch), mixer == "1", list(map(json.loads, forms)))
    library = find_library(a)
    if a.serve:
        folder, form, spinning = a.serve
        return serve(library, folder, form, a.threads, spinning == "1")
    if not a.tool:
        parser.error("--tool is missing: the ssm2d command to time")
    a.rounds = a.rounds or (2 if a.quick else 5)
    cases = [case for case in CASES if a.model in (case[0], "all")]
    if a.batch:
        cases = list(dict.fromkeys((model, a.batch) for model, _ in cases))
    results = []
    print(processor(), file=sys.stderr if a.json else sys.stdout, flush=True)
    for model, batch in cases:
        results.append(measure(a, model, batch))
        if not a.json:
            show(results[-1])
    if a.json:
        print(json.dumps({"processor": processor(), "rounds": a.rounds, "cases": results}))


if __name__ == "__main__":
    main()
