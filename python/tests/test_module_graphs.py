"""The PyTorch modules in graphs, threads and processes."""
import copy
import gc
import os
import signal
import threading
import time

from tests.module_support import Case, call, for_each_kind, make, make_normed, torch, twins
from torch.utils.checkpoint import checkpoint
from ssm2d.torch import set_num_threads


class Graphs(Case):
    @for_each_kind
    def test_called_twice_before_backward(self, kind):
        layer = make_normed(kind)
        v = torch.randn_like(self.u)
        a, b = call(layer, self.u), call(layer, v)
        u, v = self.u.requires_grad_(), v.requires_grad_()
        y, z = layer(u), layer(v)
        (y.sum() + z.sum()).backward()
        self.assertClose([u.grad, v.grad], [a[1], b[1]])
        self.assertClose([p.grad for p in layer.parameters()],
                         [g + h for g, h in zip(a[2:], b[2:])])
        for p in layer.parameters():
            p.grad = None
        if not twins.find(kind):
            return
        layer(layer(u)).sum().backward()  # into itself
        plain = make_normed(kind, backend="torch")
        plain(plain(u)).sum().backward()
        self.assertClose([p.grad for p in layer.parameters()], [p.grad for p in plain.parameters()])

    @for_each_kind
    def test_retained_graph(self, kind):
        layer = make_normed(kind)
        wanted = call(layer, self.u)
        u = self.u.clone().requires_grad_()
        y = layer(u)
        inputs = [u, *layer.parameters()]
        self.assertClose(torch.autograd.grad(y.sum(), inputs, retain_graph=True), wanted[1:])
        call(layer, torch.randn_like(u))  # takes the workspace
        self.assertClose(torch.autograd.grad(y.sum(), inputs), wanted[1:])
        with self.assertRaises(RuntimeError):
            torch.autograd.grad(y.sum(), inputs)

    @for_each_kind
    def test_workspaces_are_used_again(self, kind):
        layer = make_normed(kind)
        u = torch.randn(3, 4, 4, 6, dtype=torch.float64)
        for _ in range(5):
            loss = layer(u).sum()  # the last step's graph lives until here
            loss.backward()
        layer(u)  # a graph without a backward pass
        gc.collect()
        plan = layer._runner.shape(u, 1).plan
        self.assertEqual(len(plan.free), 1)

    @for_each_kind
    def test_second_derivative_is_refused(self, kind):
        layer = make(6, kind)
        u = self.u.requires_grad_()
        du, = torch.autograd.grad(layer(u).pow(2).sum(), u, create_graph=True)
        self.assertClose([du], torch.autograd.grad(layer(u).pow(2).sum(), u))
        with self.assertRaisesRegex(RuntimeError, f"{kind}: .* no second derivatives"):
            du.sum().backward()
        if not twins.find(kind):
            return
        plain = make(6, kind, backend="torch")
        du, = torch.autograd.grad(plain(u).pow(2).sum(), u, create_graph=True)
        du.sum().backward()

    @for_each_kind
    def test_checkpoint_and_hooks_on_saved_tensors(self, kind):
        layer = make_normed(kind)
        wanted = call(layer, self.u)
        transposed = self.u.transpose(1, 2).contiguous().transpose(1, 2)
        for way in ("reentrant", "not reentrant", "cpu", "contiguous"):
            u = transposed.detach().requires_grad_()
            if way == "cpu":
                with torch.autograd.graph.save_on_cpu():
                    y = layer(u)
            elif way == "contiguous":
                with torch.autograd.graph.saved_tensors_hooks(lambda x: x.contiguous().clone(),
                                                              lambda x: x):
                    y = layer(u)
            else:
                y = checkpoint(layer, u, use_reentrant=way == "reentrant")
            y.sum().backward()
            with self.subTest(way=way):
                self.assertClose([y, u.grad, *[p.grad for p in layer.parameters()]], wanted)
            layer.zero_grad(set_to_none=True)

    @for_each_kind
    def test_parameters_may_change_before_backward(self, kind):
        layer = make(6, kind)
        wanted = call(layer, self.u)
        y = layer(self.u)
        first = getattr(layer, layer.names[0])
        with torch.no_grad():
            first.zero_()
        y.sum().backward()
        self.assertClose([first.grad], [wanted[2]])

    @for_each_kind
    def test_input_must_not_change_before_backward(self, kind):
        layer = make(6, kind)
        u = self.u.clone()
        y = layer(u)
        u.zero_()
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            y.sum().backward()


class Squares(torch.utils.data.Dataset):
    """Runs a layer that was made, and used, before the workers were forked."""

    def __init__(self, layer, u):
        self.layer, self.u = layer, u

    def __len__(self):
        return 8

    def __getitem__(self, i):
        with torch.no_grad():
            return self.layer(self.u * (i + 1))


class Threads(Case):
    @for_each_kind
    def test_python_threads(self, kind):
        layer = make_normed(kind, 30)
        # long enough to meet
        inputs = [torch.randn(4, 12, 12, 30, dtype=torch.float64) for _ in range(6)]
        wanted = [call(layer, u) for u in inputs]
        problems = []
        frozen = copy.deepcopy(layer).eval()

        def work(i):
            try:
                for _ in range(10):
                    self.assertClose(call(layer, inputs[i]), wanted[i])
                    with torch.no_grad():
                        for _ in range(3):
                            self.assertClose([frozen(inputs[i])], wanted[i][:1])
            except BaseException as problem:
                problems.append(problem)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(problems, [])

    @for_each_kind
    def test_thread_count(self, kind):
        layer = make(6, kind)
        before = torch.get_num_threads()
        self.addCleanup(torch.set_num_threads, before)
        self.addCleanup(set_num_threads, None)
        results = []
        for torch_says, given, count in ((1, None, 1), (2, None, 2), (1, 3, 3)):
            torch.set_num_threads(torch_says)
            set_num_threads(given)
            results.append(call(layer, self.u))
            self.assertIn(count, [key[-1] for key in layer._runner.shapes])
        for other in results[1:]:
            for x, y in zip(results[0], other):
                # the number of threads changes no bit
                self.assertTrue(torch.equal(x, y))

    def test_data_loader_workers(self):
        layer = make()
        wanted = [call(layer, self.u * (i + 1))[0] for i in range(8)]
        loader = torch.utils.data.DataLoader(Squares(layer, self.u), batch_size=None, num_workers=2)
        self.assertClose(list(loader), wanted)

    def test_fork(self):
        self.addCleanup(set_num_threads, None)
        set_num_threads(2)
        u = torch.randn(8, 9, 9, 64, dtype=torch.float64)
        layer = make(64)
        wanted = call(layer, u)
        graph = layer(u)
        child = os.fork()
        if not child:
            status = 1
            try:
                torch.set_num_threads(1)  # torch's own threads do not survive a fork: it would hang
                self.assertClose([layer(u), copy.deepcopy(layer)(u)], 2 * wanted[:1])
                try:
                    graph.sum().backward()  # a graph from before the fork
                    self.assertClose([layer.A.grad], [wanted[2]])
                    self.assertClose(call(layer, u), wanted)
                except RuntimeError as refused:  # torch 2 does not differentiate there
                    self.assertIn("fork-based multiprocessing", str(refused))
                status = 0
            finally:
                os._exit(status)
        self.assertEqual(self.status_of(child), 0)
        self.assertClose(call(layer, u), wanted)

    def status_of(self, child: int) -> int:
        """Of a process that ends within a minute."""
        for _ in range(600):
            found, status = os.waitpid(child, os.WNOHANG)
            if found:
                return status
            time.sleep(0.1)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        self.fail("the forked process hangs")
