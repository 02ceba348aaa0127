"""Shared by the programs in this folder that time models in PyTorch and in this library.

A program has a table of models, a function that builds one of them, a list of cases (model, task,
batch), and calls main.

PyTorch is used at its best. It runs in the Debian 13 system that debian13.sh makes (--root), or
else in the Python that runs the program. Every form of a case that the version has is tried:
attention with plain products and with scaled_dot_product_attention, eager, traced and frozen, and
compiled with torch.compile, each in float32 and in bfloat16 (training with autocast; for inference
the whole model is converted). A form has a process of its own, with openblas and jemalloc preloaded
where they are installed; jemalloc keeps freed memory, and openblas is told the processor type,
which it does not always detect. Forms are timed in alternation, and the fastest of each number type
is kept. A form that cannot run is named with the reason. AdamW works on lists of tensors. Data are
random; the loss is cross-entropy.

Each round then times those two forms, in new processes, and `ssm2d bench train|infer --mixer none
--json` in each of its precisions. Ratios of images per second are taken within a round, and the
median over all rounds is printed: float32 beside float32, and the other precisions beside the
fastest form of all."""
import argparse
import glob
import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import threading
import time

PRELOADS = {"openblas": "usr/lib/*/openblas-openmp/libopenblas.so.0",
            "jemalloc": "usr/lib/*/libjemalloc.so.2"}
OURS = {"train": ("float32", "bf16"), "infer": ("float32", "bf16", "int8")}
READY_SECONDS = 180  # longest time to compile or trace a form
FOLDER = os.path.dirname(os.path.abspath(__file__))


# ---- a process with PyTorch ----------------------------------------------------------------------

def attend(torch, kind: str, q, k, v, bias=None):
    """Attention of [..][tokens][head width], in the form of this kind."""
    if kind == "sdpa":
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=bias)
    scores = (q * q.shape[-1] ** -0.5) @ k.transpose(-2, -1)
    return (scores if bias is None else scores + bias).softmax(-1) @ v


def training_step(torch, model, images, classes: int, form: dict):
    labels = torch.randint(classes, (len(images),))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.05, foreach=True)
    run = torch.compile(model) if form["way"] == "compiled" else model
    rounded = form["type"] == "bfloat16"

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=rounded):
            loss = torch.nn.functional.cross_entropy(run(images), labels)
        loss.backward()
        optimizer.step()

    return step


def inference_run(torch, model, images, form: dict):
    model.eval()
    tolerance = 1e-3
    with torch.no_grad():
        expected = model(images)
        if form["type"] == "bfloat16":
            model, images, tolerance = model.bfloat16(), images.bfloat16(), 0.1
        if form["way"] == "frozen":
            # without LLVM, as in Debian, its fused loops are interpreted and take minutes
            torch._C._jit_set_texpr_fuser_enabled(False)
            traced = torch.jit.freeze(torch.jit.trace(model, images))
            model = torch.jit.optimize_for_inference(traced)
        elif form["way"] == "compiled":
            model = torch.compile(model)
        for _ in range(3):  # it compiles itself in the first runs
            found = model(images)
    if float((found - expected).abs().max() / expected.abs().max()) > tolerance:
        raise RuntimeError("it does not compute the same as the eager model in float32")

    def run():
        with torch.inference_mode():
            model(images)

    return run


def count_parameters(model, expected: int):
    """Returns the model if it has as many parameters as it should."""
    count = sum(p.numel() for p in model.parameters())
    if count != expected:
        raise RuntimeError(f"the model has {count} parameters, not {expected}")
    return model


def prepare(build, numbers: dict, task: str, batch: int, form: dict):
    """Returns the version of PyTorch and a function that runs the model once."""
    import torch
    torch.manual_seed(1)
    model = count_parameters(build(torch, attention=form["attention"], **numbers),
                             numbers["parameters"])
    images = torch.randn(batch, 3, numbers["image"], numbers["image"])
    if task == "train":
        run = training_step(torch, model, images, numbers["classes"], form)
    else:
        run = inference_run(torch, model, images, form)
    for _ in range(2):  # to warm up memory and caches
        run()
    return torch.__version__, run


def serve(build, numbers: dict, task: str, batch: int, threads: int, form: dict) -> None:
    """Prints a line of JSON when the model is ready or has failed; then reads a number of seconds
    from each line of standard input, runs the model for so long, and prints a line of JSON."""
    os.environ["OMP_NUM_THREADS"] = str(threads)
    try:
        version, run = prepare(build, numbers, task, batch, form)
    except Exception as error:  # whatever keeps this form from running is its result
        print(json.dumps({"error": f"{type(error).__name__}: {error}".split("\n")[0][:200]}))
        return
    print(json.dumps({"version": version}), flush=True)
    for line in sys.stdin:
        times, start = [], time.perf_counter()
        while len(times) < 3 or time.perf_counter() - start < float(line):
            before = time.perf_counter()
            run()
            times.append(time.perf_counter() - before)
        step = statistics.median(times)
        rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
        print(json.dumps({"images_per_s": batch / step, "step_ms": 1e3 * step,
                          "peak_rss_mb": rss}), flush=True)


# ---- processes -----------------------------------------------------------------------------------

def preloads(root: str) -> dict:
    """Returns the path of each library as seen from inside the root, or None."""
    found = {name: sorted(glob.glob(os.path.join(root, pattern)))
             for name, pattern in PRELOADS.items()}
    return {name: "/" + os.path.relpath(paths[0], root) if paths else None
            for name, paths in found.items()}


def core_type() -> str:
    """Returns which of openblas's kernels are best on this processor."""
    with open("/proc/cpuinfo") as file:
        flags = file.read()
    if os.environ.get("SSM2D_CPU") != "avx2" and "avx512f" in flags:
        return "SKYLAKEX"
    return "ZEN" if "AuthenticAMD" in flags else "HASWELL"


def command_in(root, program: str, arguments: list, environment: dict, folder=None) -> list:
    """The command that runs a Python program of this folder: in the root, which sees this folder
    as /mnt and the other folder as /srv, or else in this Python."""
    variables = [f"{key}={value}" for key, value in environment.items()]
    if not root:
        return ["env", *variables, sys.executable, os.path.join(FOLDER, program), *arguments]
    mounts = ('mount -t proc proc "$1/proc" && mount --bind /dev "$1/dev" && '
              'mount --bind "$2" "$1/mnt" && '
              '{ [ -z "$3" ] || mount --bind "$3" "$1/srv"; } && '
              'root=$1 && shift 3 && exec chroot "$root" "$@"')
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", mounts, "sh",
            os.path.abspath(root), FOLDER, folder or "", "env", "-i",
            "PATH=/usr/bin:/bin", "HOME=/root", "LANG=C.UTF-8", *variables, "python3",
            os.path.join("/mnt", program), *arguments]


class Died(Exception):
    """What a process said last, or the signal that ended it."""


class Process:
    """A program that answers a number of seconds with a line of JSON."""

    def __init__(self, command: list):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        late = threading.Timer(READY_SECONDS, self.process.kill)
        late.start()
        try:
            self.first = self.read()
            if "error" in self.first:
                raise Died(self.first["error"])
        except Died as death:
            self.close()
            if not late.is_alive() and str(death) == "SIGKILL":
                raise Died(f"not ready after {READY_SECONDS} s") from None
            raise
        finally:
            late.cancel()

    def read(self) -> dict:
        line = self.process.stdout.readline()
        if not line:
            code = self.process.wait()
            last = self.process.stderr.read().strip().split("\n")[-1]
            raise Died(signal.Signals(-code).name if code < 0 else last or f"exit code {code}")
        return json.loads(line)

    def run_for(self, seconds: float) -> dict:
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()
        return self.read()

    def close(self) -> None:
        self.process.communicate()


def torch_process(case: tuple, form: dict, a) -> Process:
    environment = {"OMP_NUM_THREADS": str(a.threads)}
    libraries = [path for path in preloads(a.root or "/").values() if path and not a.as_installed]
    if libraries:
        environment.update(LD_PRELOAD=":".join(libraries), OPENBLAS_CORETYPE=core_type(),
                           MALLOC_CONF="dirty_decay_ms:-1,muzzy_decay_ms:-1")
    program = os.path.basename(sys.argv[0])
    arguments = ["--serve", *map(str, case), json.dumps(form), "--threads", str(a.threads)]
    try:
        return Process(command_in(a.root, program, arguments, environment))
    except Died as death:
        if str(death) != "SIGILL":
            raise
    # oneDNN believes in tiles that the system does not permit
    environment["ONEDNN_MAX_CPU_ISA"] = "AVX512_CORE_BF16"
    return Process(command_in(a.root, program, arguments, environment))


def run_tool(case: tuple, precision: str, a) -> dict:
    model, task, batch = case
    command = [a.tool, "bench", task, "--json", "--quick", "--mixer", "none", "--model", model,
               "--batch", str(batch), "--threads", str(a.threads), "--precision", precision]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


# ---- the fastest form, and rounds ----------------------------------------------------------------

def median_of(results: list, key: str) -> float:
    return statistics.median(result[key] for result in results)


def form_name(form: dict) -> str:
    return ", ".join(form[key] for key in ("type", "way", "attention") if form.get(key))


def fastest(case: tuple, type_name: str, attentions: list, a):
    """Returns the fastest form of this number type, or None if none runs."""
    ways = ["eager"] + ["frozen"] * (case[1] == "infer") + ["compiled"] * (not a.no_compile)
    started = []
    for way in ways:
        for attention in attentions:
            form = {"type": type_name, "way": way, "attention": attention}
            try:
                started.append((form, torch_process(case, form, a)))
            except Died as death:
                print(f"  {form_name(form)}: {death}", file=sys.stderr, flush=True)
    times = [[] for _ in started]
    for _ in range(2 if a.quick else 3):
        for (_, process), found in zip(started, times):
            found.append(process.run_for(0.5 if a.quick else 1)["step_ms"])
    for (form, process), found in zip(started, times):
        process.close()
        print(f"  {form_name(form)}: {statistics.median(found):.2f} ms", file=sys.stderr,
              flush=True)
    medians = [statistics.median(found) for found in times]
    return started[medians.index(min(medians))][0] if started else None


def measure(case: tuple, attentions: list, goals: dict, a) -> dict:
    print(f"{case[0]} {case[1]}, batch {case[2]}, forms:", file=sys.stderr, flush=True)
    forms = [form for form in (fastest(case, type_name, attentions, a)
                               for type_name in ("float32", "bfloat16")) if form]
    if not forms or forms[0]["type"] != "float32":
        sys.exit("PyTorch runs no form in float32: see above")
    processes = [torch_process(case, form, a) for form in forms]
    theirs, ours = [[] for _ in forms], {name: [] for name in OURS[case[1]]} if a.tool else {}
    for _ in range(a.rounds):
        for process, results in zip(processes, theirs):
            results.append(process.run_for(1 if a.quick else 4))
        for name, results in ours.items():
            results.append(run_tool(case, name, a))
    version = processes[0].first["version"]
    for process in processes:
        process.close()
    keys = "images_per_s", "step_ms", "peak_rss_mb"
    result = {"model": case[0], "task": case[1], "batch": case[2], "threads": a.threads,
              "goals": goals.get(case), "torch": [
                  {"version": version, "form": form_name(form),
                   **{key: median_of(found, key) for key in keys}}
                  for form, found in zip(forms, theirs)]}
    best = min(range(len(forms)), key=lambda i: result["torch"][i]["step_ms"])
    for name, found in ours.items():
        peer = 0 if name == "float32" else best
        ratio = statistics.median(o["images_per_s"] / t["images_per_s"]
                                  for o, t in zip(found, theirs[peer]))
        to_float32 = statistics.median(o["images_per_s"] / f["images_per_s"]
                                       for o, f in zip(found, ours["float32"]))
        rss = median_of(found, "peak_rss_mb")
        result.setdefault("ssm2d", {})[name] = {
            **{key: median_of(found, key) for key in keys}, "beside": form_name(forms[peer]),
            "ratio": ratio, "ratio_to_float32": to_float32,
            "memory_ratio": rss / result["torch"][peer]["peak_rss_mb"]}
    return result


def show(r: dict) -> None:
    print(f"{r['model']} {r['task']}, batch {r['batch']}:")

    def row(name: str, t: dict) -> None:
        print(f"  {name:36} {t['images_per_s']:9.1f} images/s  {t['step_ms']:9.2f} ms"
              f"  {t['peak_rss_mb']:7.0f} MB")

    for t in r["torch"]:
        row(f"PyTorch {t['version'].split('+')[0]} {t['form']}", t)
    for name, t in r.get("ssm2d", {}).items():
        row(f"ssm2d {name}", t)
        goal = (r["goals"] or {}).get(name)
        print(f"    {t['ratio']:.2f} times as fast as {t['beside']}"
              + (f" (goal: {goal})" if goal else "")
              + f", {t['memory_ratio']:.2f} times the memory"
              + ("" if name == "float32" else
                 f"; {t['ratio_to_float32']:.2f} times as fast as float32"))
    sys.stdout.flush()


def main(models: dict, build, cases: list, goals: dict, about: str, attentions=("plain", "sdpa")):
    """models: for each name the arguments of build, among them image, classes and parameters;
    build(torch, attention=.., ..): the model; goals: of some cases, for each precision, the ratio
    of images per second to reach; attentions: the kinds that build knows."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--root", help="run PyTorch in this folder that debian13.sh made (as root)")
    parser.add_argument("--tool", help="the ssm2d command to time beside PyTorch")
    parser.add_argument("--model", choices=[*models, "all"], default="all")
    parser.add_argument("--task", choices=["train", "infer", "all"], default="all")
    parser.add_argument("--batch", type=int, help="images per batch, instead of the cases' own")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, help="number of rounds (default: 5; --quick: 2)")
    parser.add_argument("--quick", action="store_true", help="short rounds, less accurate")
    parser.add_argument("--no-compile", action="store_true", help="do not try torch.compile")
    parser.add_argument("--as-installed", action="store_true", help="preload nothing")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--serve", nargs=4, help=argparse.SUPPRESS)  # the process with PyTorch
    a = parser.parse_args()
    if a.serve:
        name, task, batch, form = a.serve
        serve(build, models[name], task, int(batch), a.threads, json.loads(form))
        return
    a.rounds = a.rounds or (2 if a.quick else 5)
    cases = [c for c in cases if a.model in (c[0], "all") and a.task in (c[1], "all")]
    if a.batch:
        cases = list(dict.fromkeys((model, task, a.batch) for model, task, _ in cases))
    found = {name: None if a.as_installed else path
             for name, path in preloads(a.root or "/").items()}
    missing = "not used" if a.as_installed else "not found"
    shown = ", ".join(f"{name}: {path or missing}" for name, path in found.items())
    print(f"preloaded for PyTorch: {shown}", file=sys.stderr, flush=True)
    results = []
    for case in cases:
        results.append(measure(case, list(attentions), goals, a))
        if not a.json:
            show(results[-1])
    if a.json:
        print(json.dumps({"preloaded": found, "rounds": a.rounds, "cases": results}))
