"""torch.compile, torch.export and torch.func, of PyTorch 2: outputs and gradients of every kind, or
an error that says what to do."""
import unittest

from tests.module_support import CONFIGS, KINDS, Case, backends, call, input_of, make
from tests.support import functional_call, torch

if not hasattr(torch, "compile") or not torch._dynamo.is_dynamo_supported():
    raise unittest.SkipTest("this torch has no torch.compile (it came with version 2)")


def layers():
    """(name, layer, input) of every kind and backend."""
    for kind, options in CONFIGS:
        for backend in backends(kind):
            yield (f"{kind}, {backend}, {options}", make(6, kind, backend=backend, **options),
                   input_of(options, dtype=torch.float64))


class Compiling(Case):
    def setUp(self):
        super().setUp()
        torch._dynamo.reset()
        self.addCleanup(torch._dynamo.reset)

    def test_compile_as_one_graph(self):
        for name, layer, u in layers():
            with self.subTest(layer=name):
                torch._dynamo.reset()
                compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
                self.assertClose(call(compiled, u), call(layer, u))
                with torch.no_grad():
                    self.assertClose([compiled(u)], [layer(u)])

    def test_exported_program_equals_eager(self):
        for name, layer, u in layers():
            with self.subTest(layer=name):
                program = torch.export.export(layer, (u,))
                self.assertClose([program.module()(u)], [layer(u)])


def loss(layer):
    """A function of the parameters and the input."""
    return lambda params, u: functional_call()(layer, params, (u,)).square().sum()


class Transforms(Case):
    def test_func_grad_equals_autograd(self):
        for name, layer, u in layers():
            with self.subTest(layer=name):
                params = {n: p.detach() for n, p in layer.named_parameters()}
                of_params, of_u = torch.func.grad(loss(layer), (0, 1))(params, u)
                y = layer(u)
                wanted = call(layer, u, 2 * y.detach())
                self.assertClose([of_u, *[of_params[n] for n in params]], wanted[1:])

    def test_unsupported_transforms_are_refused(self):
        for kind in KINDS:
            layer = make(6, kind)
            params = {n: p.detach() for n, p in layer.named_parameters()}
            with self.assertRaisesRegex(RuntimeError, f"{kind}: .* no second derivatives"):
                torch.func.grad(lambda x: torch.func.grad(loss(layer), 1)(params, x).sum())(self.u)
            with self.assertRaisesRegex(RuntimeError, f"{kind}: .*vmap cannot follow"):
                torch.func.vmap(layer)(self.u[None])
