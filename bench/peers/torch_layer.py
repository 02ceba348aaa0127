#!/usr/bin/env python3
"""The PyTorch module against its peers, forward and backward, in one run: prints ratios.

    SSM2D_LIBRARY=build/release/src/libssm2d.so PYTHONPATH=python \\
        python3 bench/peers/torch_layer.py [--json]

Peers, written from descriptions:
    powers      the algorithm of the paper's own PyTorch code: every path through the grid is a
                product of powers of A, so that kernels come from tables of powers, one-hot matrices
                that select from them (made once, not timed) and sums; then a convolution by FFT for
                each direction
    fft         torch.fft with all directions in one two-sided kernel, which is given: only the
                convolution and D are timed
    recursion   this package's own PyTorch path: kernels by the recursion over anti-diagonals, then
                as `fft`
Peers get channel-first arrays, for which torch.fft is fastest. It is checked that all compute the
same numbers. The package's own overhead is timed on a layer so small that the C function takes
almost no time."""
import argparse
import json
import sys
import time

import torch
from torch import nn

import ssm2d.torch
from ssm2d.torch.twins import ssm2d as recursion


def path_tables(side: int) -> tuple:
    """Returns the tables of norm `relaxed`: one-hot [state h or v][A1..A4][cell * term][power], and
    the weights of b1 and b2 [state][cell * term][2]."""
    terms = 2 * side
    # of each cell: {(powers of a1..a4, which b): coefficient}
    h = [[{} for _ in range(side)] for _ in range(side)]
    v = [[{} for _ in range(side)] for _ in range(side)]

    def step(state, symbol, factor, into):
        for (powers, b), c in state.items():
            key = tuple(p + (k == symbol) for k, p in enumerate(powers)), b
            into[key] = into.get(key, 0) + factor * c

    h[0][0], v[0][0] = {((0, 0, 0, 0), 0): 1.0}, {((0, 0, 0, 0), 1): 1.0}
    for i in range(side):
        for j in range(side):
            g = 1.0 if i == 0 or j == 0 else 0.5
            if j:
                step(h[i][j - 1], 0, g, h[i][j])
                step(v[i][j - 1], 1, g, h[i][j])
            if i:
                step(h[i - 1][j], 2, g, v[i][j])
                step(v[i - 1][j], 3, g, v[i][j])
    one_hot = torch.zeros(2, 4, side * side * terms, 2 * side)
    weight = torch.zeros(2, side * side * terms, 2)
    for s, state in enumerate((h, v)):
        for cell in range(side * side):
            found = state[cell // side][cell % side]
            for t, ((powers, b), c) in enumerate(found.items()):
                weight[s, cell * terms + t, b] = c
                for symbol, power in enumerate(powers):
                    one_hot[s, symbol, cell * terms + t, power] = 1
    return one_hot, weight


class Powers(nn.Module):
    def __init__(self, layer, side: int):
        super().__init__()
        self.config = layer.config
        self.params = nn.ParameterDict({name: nn.Parameter(p.detach().clone())
                                        for name, p in layer.named_parameters()})
        self.side = side
        self.one_hot, self.weight = path_tables(side)

    def kernels(self):
        """[systems][side][side]"""
        side, systems, N = self.side, self.params["A"].shape[1], self.config.d_state
        logs = nn.functional.logsigmoid(self.params["A"]).flatten(1)  # 4 x (systems * N)
        b = torch.sigmoid(self.params["B"]).flatten(1)
        powers = torch.exp(torch.arange(2 * side)[None, :, None] * logs[:, None])
        product = torch.matmul(self.weight, b)
        for symbol in range(4):
            product = product * torch.matmul(self.one_hot[:, symbol], powers[symbol])
        states = product.view(2, side * side, 2 * side, systems, N).sum(2)
        kernels = torch.einsum("sckn,skn->kc", states, self.params["C"] * N**-0.5)
        return kernels.view(systems, side, side)

    def forward(self, u):
        side, sizes, channels = self.side, (2 * self.side, 2 * self.side), self.config.channels
        spectra = torch.fft.rfft2(self.kernels(), s=sizes)
        y = self.params["D"][:, None, None] * u
        for r, flip in enumerate(recursion.flips(self.config)):
            dims = [dim for dim, flipped in zip((2, 3), flip) if flipped]
            system = (r * channels + torch.arange(channels)) % len(spectra)
            x = torch.fft.rfft2(torch.flip(u, dims) if dims else u, s=sizes)
            part = torch.fft.irfft2(x * spectra[system], s=sizes)[..., :side, :side]
            y = y + (torch.flip(part, dims) if dims else part)
        return y


class PlainFFT(nn.Module):
    def __init__(self, layer, side: int):
        super().__init__()
        self.side = side
        self.size = recursion.good_size(2 * side - 1)
        k = layer.kernel(side, side).detach()
        sizes = self.size, self.size
        self.k = nn.Parameter(recursion.two_sided(layer.config, k, side, side, sizes))
        self.D = nn.Parameter(layer.D.detach().clone())

    def forward(self, u):
        sizes = self.size, self.size
        y = torch.fft.irfft2(torch.fft.rfft2(u, s=sizes) * torch.fft.rfft2(self.k), s=sizes)
        return y[..., :self.side, :self.side] + self.D[:, None, None] * u


def compare(a) -> dict:
    """Returns seconds of forward and backward by name: the fastest of all rounds, each with one run
    of every module."""
    torch.manual_seed(1)
    options = dict(d_state=a.d_state, n_ssm=a.n_ssm, directions=a.directions)
    layer = ssm2d.torch.SSM2d(a.channels, **options)
    first = ssm2d.torch.SSM2d(a.channels, layout="BCHW", **options)
    plain = ssm2d.torch.SSM2d(a.channels, layout="BCHW", backend="torch", **options)
    first.load_state_dict(layer.state_dict())
    plain.load_state_dict(layer.state_dict())
    channel_first = torch.randn(a.batch, a.channels, a.side, a.side)
    channel_last = channel_first.movedim(1, 3).contiguous()
    modules = {"ssm2d": (layer, channel_last), "ssm2d BCHW": (first, channel_first),
               "recursion": (plain, channel_first), "fft": (PlainFFT(layer, a.side), channel_first),
               "powers": (Powers(layer, a.side), channel_first)}
    gradients = {}
    times = {name: [] for name in modules}
    for round_number in range(a.rounds + 1):
        for name, (module, u) in modules.items():
            u = u.detach().requires_grad_()
            dy = torch.ones_like(u)
            start = time.perf_counter()
            y = module(u)
            y.backward(dy)
            if round_number:
                times[name].append(time.perf_counter() - start)
            else:  # the first round warms up, and its results are compared
                gradients[name] = [t.detach() if name == "ssm2d" else t.detach().movedim(1, 3)
                                   for t in (y, u.grad)]
            module.zero_grad(set_to_none=True)
    for name, results in gradients.items():
        for what, x, reference in zip(("y", "du"), results, gradients["ssm2d"]):
            error = float((x - reference).abs().max() / reference.abs().max())
            if error > 1e-4:
                sys.exit(f"{name} does not compute the same {what}: difference {error:.1e}")
    return {name: min(t) for name, t in times.items()}


def overhead(a) -> dict:
    """Returns the microseconds that a call takes beyond the C function, on one thread."""
    torch.set_num_threads(1)

    def fastest(function, count=3000):
        times = []
        for _ in range(count):
            start = time.perf_counter()
            function()
            times.append(time.perf_counter() - start)
        return sorted(times)[count // 10] * 1e6  # what it takes when nothing else is running

    layer = ssm2d.torch.SSM2d(16)
    u = torch.randn(1, 4, 4, 16)
    shape = layer._runner.shape(u, 2)
    workspace, y = shape.plan.take(), torch.empty_like(u)
    flat = layer.gather(list(layer.parameters()))
    dy, du, dflat = torch.ones_like(u), torch.zeros_like(u), torch.zeros_like(flat)
    at = [t.data_ptr() for t in (flat, u, y, dy, du, dflat)]
    plan = shape.plan
    forward = fastest(lambda: plan.forward(plan.address, workspace.address, *at[:3]))
    apply = fastest(lambda: plan.apply(plan.address, workspace.address, *at[1:3]))
    both = fastest(lambda: (plan.forward(plan.address, workspace.address, *at[:3]),
                            plan.backward(plan.address, workspace.address, *at[:2], *at[3:])))
    training = fastest(lambda: layer(u)) - forward
    step = fastest(lambda: layer(u).backward(dy)) - both
    layer.eval()
    with torch.no_grad():
        inference = fastest(lambda: layer(u)) - apply

    class Nothing(torch.autograd.Function):
        @staticmethod
        def forward(ctx, u, *params):
            return torch.empty_like(u)

        @staticmethod
        def backward(ctx, dy):
            return (None, *[torch.zeros_like(p) for p in layer.parameters()])

    engine = fastest(lambda: Nothing.apply(u, *layer.parameters()).backward(dy))
    return {"forward": training, "inference": inference, "forward and backward": step,
            "autograd itself": engine}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name, value in (("batch", 128), ("side", 8), ("channels", 192), ("d-state", 16),
                        ("n-ssm", 8), ("directions", 2), ("threads", 2), ("rounds", 9)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    a = parser.parse_args()
    torch.set_num_threads(a.threads)
    times = compare(a)
    ratios = {name: t / times["ssm2d"] for name, t in times.items()}
    extra = overhead(a)
    if a.json:
        settings = {k: v for k, v in vars(a).items() if k != "json"}
        print(json.dumps({"settings": settings, "torch": torch.__version__, "seconds": times,
                          "times_as_long_as_ssm2d": ratios, "overhead_microseconds": extra}))
        return
    print(f"forward and backward, batch {a.batch}, {a.side} x {a.side}, {a.channels} channels, "
          f"{a.directions} directions, {a.threads} threads, torch {torch.__version__}")
    for name, ratio in ratios.items():
        print(f"  {name:12} {1e3 * times[name]:9.2f} ms  {ratio:7.2f} times as long as ssm2d")
    print("a call beyond the C function, microseconds")
    for name, value in extra.items():
        print(f"  {name:22} {value:6.1f}")


if __name__ == "__main__":
    main()
