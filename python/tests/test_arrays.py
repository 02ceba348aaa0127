"""Bindings, options, and the functions on NumPy arrays."""
import os
import re
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import ssm2d
from ssm2d import _library
from tests.support import GOLDEN, ROOT, TIMEOUT, error, golden_cases


class Library(unittest.TestCase):
    def run_python(self, code: str, **environment) -> subprocess.CompletedProcess:
        return subprocess.run([sys.executable, "-c", code], env={**os.environ, **environment},
                              capture_output=True, text=True, timeout=TIMEOUT)

    def test_missing_library_says_how_to_build_it(self):
        done = self.run_python("import ssm2d", SSM2D_LIBRARY="/nowhere/libssm2d.so")
        self.assertNotEqual(done.returncode, 0)
        for part in ("ImportError", "/nowhere/libssm2d.so", "cmake --build", "pip install",
                     "SSM2D_LIBRARY"):
            self.assertIn(part, done.stderr)

    def test_another_library_is_refused(self):
        with tempfile.NamedTemporaryFile(suffix=".so") as file:
            file.write(b"not a library")
            file.flush()
            self.assertIn("cmake --build", self.run_python("import ssm2d",
                                                           SSM2D_LIBRARY=file.name).stderr)
        import ctypes.util
        libm = ctypes.util.find_library("m")
        self.assertIn("is not the ssm2d library",
                      self.run_python("import ssm2d", SSM2D_LIBRARY=libm).stderr)

    def test_numpy_part_does_not_need_torch(self):
        code = "import sys; sys.modules['torch'] = None; import ssm2d; print(ssm2d.__version__)"
        done = self.run_python(code)
        self.assertEqual(done.stdout.strip(), ssm2d.__version__, done.stderr)

    def test_version_is_that_of_the_header(self):
        header = (ROOT / "include" / "ssm2d.h").read_text()
        self.assertRegex(header, rf'#define SSM2D_VERSION +"{re.escape(ssm2d.__version__)}"')

    def test_objects_may_go_in_any_order(self):
        config = ssm2d.Config(channels=3)
        context = _library.Context(2)
        self.assertEqual(context.threads, 2)
        self.assertIn(context.cpu, ("baseline", "avx2", "avx512"))
        options = _library.PlanOptions(batch=1, grid=_library.Grid(2, (4, 4)))
        plan = _library.Plan(context, config, options)
        workspaces = [plan.take() for _ in range(3)]
        handles = context.handle, plan.handle
        destroyed = []
        for handle, name in zip(handles, ("context", "plan")):
            real = handle.destroy
            handle.destroy = lambda address, real=real, name=name: (destroyed.append(name),
                                                                    real(address))
        context.__del__()
        plan.__del__()
        context.handle = plan.handle = None
        self.assertEqual(destroyed, [])
        for workspace in workspaces:
            workspace.__del__()
            workspace.handle = None
        self.assertEqual(destroyed, ["plan", "context"])


class Options(unittest.TestCase):
    def test_options_match_the_library(self):
        self.assertEqual(ssm2d.options["norm"].choices, ["none", "half", "relaxed", "paper"])
        for name, default in (("norm", "relaxed"), ("d_state", 16), ("skip", True)):
            self.assertEqual(ssm2d.options[name].default, default)
        self.assertEqual(ssm2d.options["directions"].allowed, [1, 2, 4])
        self.assertIsNone(ssm2d.options["channels"].default)

    def test_errors_name_the_option_and_the_value(self):
        for wrong, kind, parts in (
                (dict(d_state=0), ValueError, ("d_state=0", "1 to")),
                (dict(d_state=2.5), TypeError, ("d_state=2.5",)),
                (dict(directions=3), ValueError, ("directions=3", "1, 2 or 4")),
                (dict(norm="big"), ValueError, ("norm='big'", "relaxed")),
                (dict(skip=1), TypeError, ("skip=1",)),
                (dict(complex="round"), ValueError, ("complex='round'",)),
                (dict(complex=True, values="polar"), ValueError, ("complex",)),
                (dict(trunc=(1, 2, 3)), ValueError, ("trunc",)),
                (dict(states=4), TypeError, ("states", "d_state")),
                (dict(channels=0), ValueError, ("channels=0",))):
            with self.assertRaises(kind, msg=wrong) as caught:
                ssm2d.Config(**{"channels": 4, **wrong})
            for part in parts:
                self.assertIn(part, str(caught.exception))
        with self.assertRaisesRegex(TypeError, "channels"):
            ssm2d.Config()

    def test_parameters_have_names_and_shapes(self):
        config = ssm2d.Config(channels=6, complex=True, layer_norm=True, trunc=(2, 3))
        self.assertEqual([p.name for p in config.params],
                         ["A_angle", "A_radius", "B_angle", "B_radius", "C_angle", "C_radius", "D",
                          "gamma", "beta"])
        self.assertEqual(config.total, 16 * 8 * 16 + 3 * 6)
        self.assertEqual((config.trunc_rows, config.trunc_cols, config.values), (2, 3, "polar"))
        self.assertNotEqual(config, ssm2d.Config(channels=6))
        self.assertEqual(repr(ssm2d.Config(channels=2, norm="half")),
                         "Config(channels=2, norm='half')")
        self.assertEqual(repr(ssm2d.Config("ema", channels=2)), "Config('ema', channels=2)")
        self.assertEqual(repr(ssm2d.Layer("s4nd", channels=2, rate=0.5)),
                         "Layer('s4nd', channels=2, rate=0.5)")


class Arrays(unittest.TestCase):
    def setUp(self):
        self.random = np.random.default_rng(1)
        self.u = self.random.standard_normal((2, 5, 4, 6))
        self.params = ssm2d.init_params(channels=6, dtype=np.float64, seed=3)

    def test_initial_values_depend_on_the_seed(self):
        again = ssm2d.init_params(channels=6, dtype=np.float64, seed=3)
        other = ssm2d.init_params(channels=6, dtype=np.float64, seed=4, init="authors")
        for name in self.params:
            np.testing.assert_array_equal(self.params[name], again[name])
        self.assertTrue((self.params["D"] == 1).all())
        self.assertFalse((other["D"] == 1).any())
        with self.assertRaisesRegex(ValueError, "init='zero'"):
            ssm2d.init_params(channels=6, init="zero")

    def test_forward_and_scan_agree_in_any_layout(self):
        y = ssm2d.forward(self.u, self.params)
        self.assertEqual(y.dtype, np.float64)
        self.assertLess(error(ssm2d.scan(self.u, self.params), y), 1e-13)
        first = ssm2d.forward(self.u.transpose(0, 3, 1, 2), self.params, layout="BCHW")
        self.assertLess(error(first.transpose(0, 2, 3, 1), y), 1e-13)
        mirrored = ssm2d.forward(self.u[:, ::-1, ::-1], self.params)
        self.assertLess(error(mirrored, ssm2d.forward(self.u[:, ::-1, ::-1].copy(), self.params)),
                        1e-14)
        same = np.broadcast_to(self.u[:1], self.u.shape)
        self.assertLess(error(ssm2d.forward(same, self.params)[1:], y[:1]), 1e-14)
        single = ssm2d.forward(self.u.astype(np.float32), self.params, threads=1)
        self.assertEqual(single.dtype, np.float32)
        self.assertLess(error(single, y), 1e-5)

    def test_kernel_is_the_impulse_response(self):
        options = dict(directions=1, skip=False, norm="paper")
        params = ssm2d.init_params(channels=6, dtype=np.float64, **options)
        unit = np.zeros((1, 5, 4, 6))
        unit[0, 0, 0] = 1
        k = ssm2d.kernel(params, 5, 4, channels=6, **options)
        self.assertEqual(k.shape, (1, 6, 5, 4))
        self.assertLess(error(ssm2d.forward(unit, params, **options)[0].transpose(2, 0, 1), k[0]),
                        1e-13)

    def test_flat_parameters_are_accepted(self):
        flat = np.concatenate([p.ravel() for p in self.params.values()])
        np.testing.assert_array_equal(ssm2d.forward(self.u, flat),
                                      ssm2d.forward(self.u, self.params))

    def test_stream_equals_scan(self):
        for options in (dict(directions=1), dict(directions=2, pair="columns", norm="half",
                                                 complex=True)):
            params = ssm2d.init_params(channels=6, dtype=np.float64, **options)
            stream = ssm2d.Stream(params, 2, 4, dtype=np.float64, **options)
            want = ssm2d.scan(self.u, params, **options)
            for _ in range(2):
                rows = [stream.push(self.u[:, i]) for i in range(5)]
                self.assertLess(error(np.stack(rows, 1), want), 1e-13)
                stream.reset()
            with self.assertRaisesRegex(ValueError, "u: shape"):
                stream.push(self.u[:, 0, :2])
        with self.assertRaises(ValueError):
            ssm2d.Stream(self.params, 2, 4)  # two directions, of which one looks down

    def test_errors_name_the_argument(self):
        for call, kind, part in (
                (lambda: ssm2d.forward(self.u[0], self.params), ValueError, "u: shape"),
                (lambda: ssm2d.forward(self.u.astype(int), self.params), TypeError,
                 "u: dtype int64"),
                (lambda: ssm2d.forward(self.u, self.params, layout="HWC"), ValueError,
                 "layout='HWC'"),
                (lambda: ssm2d.forward(self.u, self.params, channels=5), ValueError, "channels=5"),
                (lambda: ssm2d.forward(self.u, {**self.params, "E": 1}), ValueError, "params: E"),
                (lambda: ssm2d.forward(self.u, {"A": self.params["A"]}), ValueError,
                 "params: B is missing"),
                (lambda: ssm2d.forward(self.u, {**self.params, "D": np.ones(5)}), ValueError,
                 "'D'"),
                (lambda: ssm2d.forward(self.u, np.ones(7)), ValueError, "params: shape"),
                (lambda: ssm2d.forward(self.u, {**self.params, "D": self.params["D"] * np.nan}),
                 ValueError, "D[0]"),
                (lambda: ssm2d.forward(self.u, self.params, algorithm="magic"), ValueError,
                 "algorithm=magic"),
                (lambda: ssm2d.scan(self.u, self.params, trunc=2), ValueError, "trunc"),
                (lambda: ssm2d.forward(self.u[:0], self.params), ValueError, "batch=0"),
                (lambda: ssm2d.kernel(self.params, -1, 4), ValueError, "rows=-1")):
            with self.assertRaises(kind) as caught:
                call()
            self.assertIn(part, str(caught.exception))

    @unittest.skipUnless(GOLDEN.is_dir(), f"no golden cases in {GOLDEN}")
    def test_golden_cases_agree(self):
        cases = list(golden_cases())
        self.assertGreaterEqual(len(cases), 35)
        for name, kind, options, arrays in cases:
            layer = ssm2d.Layer(kind, **options)
            params = {p.name: arrays[p.name] for p in layer.params}
            for dtype, most in ((np.float64, 1e-12), (np.float32, 2e-5)):
                with self.subTest(case=name, dtype=dtype.__name__):
                    u, dy = (arrays[n].astype(dtype) for n in ("u", "dy"))
                    self.assertLess(error(layer.kernel(params, *u.shape[2:], dtype=dtype),
                                          arrays["K"]), most)
                    for algorithm in ("auto", *ssm2d.kinds[kind].algorithms):
                        if algorithm == "scan" and "trunc" in options:
                            continue
                        y = layer.forward(u, params, layout="BCHW", algorithm=algorithm)
                        self.assertLess(error(y, arrays["y"]), most, algorithm)
                    du, dparams = layer.backward(u, params, dy, layout="BCHW")
                    self.assertLess(error(du, arrays["du"]), most)
                    for n, gradient in dparams.items():
                        self.assertLess(error(gradient, arrays["d" + n]), most, n)
