"""The C library, by ctypes: finding it, its structures (include/ssm2d.h and ssm2d_baselines.h),
and objects that free what they hold."""
import ctypes
import ctypes.util
import os
import sys
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_ssize_t, c_uint64, c_void_p

API = (0, 2)  # the version of include/ssm2d.h that the structures below are taken from


class Strides(ctypes.Structure):
    _fields_ = [(name, c_ssize_t) for name in ("batch", "row", "col", "channel")]


class Sized(ctypes.Structure):
    """A structure that begins with its size, by which the library knows its version."""

    def __init__(self, **values):
        super().__init__(size=ctypes.sizeof(type(self)), **values)


class ContextOptions(Sized):
    _fields_ = [("size", c_size_t), ("threads", c_int), ("cpu", c_char_p),
                ("allocate", c_void_p), ("release", c_void_p), ("user", c_void_p)]


class PlanOptions(Sized):
    _fields_ = [("size", c_size_t), ("batch", c_size_t), ("rows", c_size_t), ("cols", c_size_t),
                ("type", c_int), ("algorithm", c_char_p), ("measure", c_int), ("inference", c_int),
                ("max_bytes", c_size_t), ("input", Strides), ("output", Strides)]


class Field(ctypes.Structure):
    INT, REAL, FLAG, CHOICE, TEXT, PAIR, LIST = range(7)  # of kind
    _fields_ = [("name", c_char_p), ("help", c_char_p), ("kind", c_int), ("offset", c_size_t),
                ("minimum", ctypes.c_double), ("maximum", ctypes.c_double),
                ("default_value", c_char_p), ("names", POINTER(c_char_p)),
                ("allowed", POINTER(c_int))]


class Param(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("rank", c_int), ("shape", c_size_t * 4), ("offset", c_size_t),
                ("size", c_size_t),
                ("decay", c_int), ("system", c_int)]


class BaselineParam(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("rank", c_int), ("shape", c_size_t * 5), ("offset", c_size_t),
                ("size", c_size_t), ("decay", c_int), ("system", c_int)]


class Error(ctypes.Structure):
    _fields_ = [("line", ctypes.c_char * 512)]


# name: (result, arguments); every handle and array is a plain address
PROTOTYPES = {
    "ssm2d_version": (c_char_p, []),
    "ssm2d_context_create": (c_int, [POINTER(ContextOptions), POINTER(c_void_p), POINTER(Error)]),
    "ssm2d_context_destroy": (None, [c_void_p]),
    "ssm2d_context_threads": (c_int, [c_void_p]),
    "ssm2d_context_cpu": (c_char_p, [c_void_p]),
    "ssm2d_config_init": (None, [c_void_p, c_size_t]),
    "ssm2d_config_check": (c_int, [c_void_p, POINTER(Error)]),
    "ssm2d_config_fields": (POINTER(Field), [POINTER(c_size_t)]),
    "ssm2d_param_get": (c_int, [c_void_p, c_int, POINTER(Param)]),
    "ssm2d_param_total": (c_size_t, [c_void_p]),
    "ssm2d_params_init": (c_int, [c_void_p, c_int, c_uint64, c_int, c_void_p, POINTER(Error)]),
    "ssm2d_params_check": (c_int, [c_void_p, c_int, c_void_p, POINTER(Error)]),
    "ssm2d_plan_create": (c_int, [c_void_p, c_void_p, POINTER(PlanOptions), POINTER(c_void_p),
                                  POINTER(Error)]),
    "ssm2d_plan_destroy": (None, [c_void_p]),
    "ssm2d_plan_algorithm": (c_char_p, [c_void_p]),
    "ssm2d_plan_bytes": (c_size_t, [c_void_p]),
    "ssm2d_algorithm_name": (c_char_p, [c_int]),
    "ssm2d_workspace_create": (c_int, [c_void_p, POINTER(c_void_p), POINTER(Error)]),
    "ssm2d_workspace_destroy": (None, [c_void_p]),
    "ssm2d_forward": (None, [c_void_p] * 5),
    "ssm2d_prepare": (None, [c_void_p] * 3),
    "ssm2d_apply": (None, [c_void_p] * 4),
    "ssm2d_backward": (None, [c_void_p] * 7),
    "ssm2d_kernel": (None, [c_void_p] * 4),
    "ssm2d_stream_create": (c_int, [c_void_p, c_void_p, c_size_t, c_size_t, c_int, c_void_p,
                                    POINTER(c_void_p),
                                    POINTER(Error)]),
    "ssm2d_stream_push": (None, [c_void_p] * 3),
    "ssm2d_stream_reset": (None, [c_void_p]),
    "ssm2d_stream_destroy": (None, [c_void_p]),
    "ssm2d_s4nd_config_init": (None, [c_void_p, c_size_t]),
    "ssm2d_ema_config_init": (None, [c_void_p, c_size_t]),
    "ssm2d_baseline_fields": (POINTER(Field), [c_int, POINTER(c_size_t)]),
    "ssm2d_baseline_config_check": (c_int, [c_void_p, POINTER(Error)]),
    "ssm2d_baseline_param_get": (c_int, [c_void_p, c_int, POINTER(BaselineParam)]),
    "ssm2d_baseline_param_total": (c_size_t, [c_void_p]),
    "ssm2d_baseline_params_init": (c_int, [c_void_p, c_int, c_uint64, c_int, c_void_p,
                                           POINTER(Error)]),
    "ssm2d_baseline_plan_create": (c_int, [c_void_p, c_void_p, POINTER(PlanOptions),
                                           POINTER(c_void_p), POINTER(Error)]),
    "ssm2d_baseline_plan_destroy": (None, [c_void_p]),
    "ssm2d_baseline_plan_algorithm": (c_char_p, [c_void_p]),
    "ssm2d_baseline_plan_bytes": (c_size_t, [c_void_p]),
    "ssm2d_baseline_algorithm_name": (c_char_p, [c_int, c_int]),
    "ssm2d_baseline_workspace_create": (c_int, [c_void_p, POINTER(c_void_p), POINTER(Error)]),
    "ssm2d_baseline_workspace_destroy": (None, [c_void_p]),
    "ssm2d_baseline_forward": (None, [c_void_p] * 5),
    "ssm2d_baseline_backward": (None, [c_void_p] * 7),
}

HOW_TO_BUILD = """Build it in a clone of the project:
    cmake -S . -B build/python -DCMAKE_BUILD_TYPE=Release -DSSM2D_TOOL=OFF -DSSM2D_TESTS=OFF
    cmake --build build/python
and set SSM2D_LIBRARY=<clone>/build/python/src/libssm2d.so, or install library and package
together:
    pip install <clone>"""


def candidates() -> list:
    """Where the library may be, in the order of preference: SSM2D_LIBRARY, this folder, the
    system."""
    given = os.environ.get("SSM2D_LIBRARY")
    if given:
        return [given]  # what was asked for, or nothing
    name = "libssm2d.dylib" if sys.platform == "darwin" else "libssm2d.so"
    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
    return [path for path in (own if os.path.exists(own) else None,
                              ctypes.util.find_library("ssm2d"), name) if path]


def load() -> ctypes.CDLL:
    reasons = []
    for path in candidates():
        try:
            library = ctypes.CDLL(path)
            break
        except OSError as error:
            reasons.append(f"  {path}: {error}")
    else:
        source = "the package's folder and the system"
        if os.environ.get("SSM2D_LIBRARY"):
            source = "SSM2D_LIBRARY"
        raise ImportError("\n".join([f"the ssm2d library was not found (looked at {source}):",
                                     *reasons, HOW_TO_BUILD]))
    try:
        for name, (result, arguments) in PROTOTYPES.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
    except AttributeError as error:
        raise ImportError(f"{path} is not the ssm2d library of this package: "
                          f"{error}\n{HOW_TO_BUILD}") from None
    version = library.ssm2d_version().decode()
    if tuple(int(part) for part in version.split(".")[:2]) != API:
        raise ImportError(f"{path} is ssm2d {version}, but this package is made for "
                          f"{API[0]}.{API[1]}.\n{HOW_TO_BUILD}")
    library.path = path
    return library


lib = load()
EXCEPTIONS = {1: ValueError, 2: MemoryError, 3: ValueError, 4: OSError}  # by ssm2d_status


def check(function, *arguments) -> None:
    """Calls a function that ends in `ssm2d_error *` and raises what it reports."""
    error = Error()
    status = function(*arguments, byref(error))
    if status:
        raise EXCEPTIONS.get(status, RuntimeError)(error.line.decode(errors="replace"))


class Handle:
    """An object of the library. It is destroyed when its owner and everything made from it have
    released it, in whatever order that happens: the garbage collector finalises the members of a
    cycle in any order."""
    __slots__ = ("address", "destroy", "parent", "others")

    def __init__(self, destroy, parent, create, *arguments):
        address = c_void_p()
        check(create, *arguments, byref(address))
        self.address, self.destroy, self.parent = address.value, destroy, parent
        self.others = []  # one entry for each user but one; append and pop are atomic
        if parent:
            parent.others.append(None)

    def release(self) -> None:
        try:
            self.others.pop()
        except IndexError:
            self.destroy(self.address)
            if self.parent:
                self.parent.release()


class Owner:
    """Base of the classes below: owns one handle."""
    __slots__ = ("handle", "address")

    def __init__(self, *arguments):
        self.handle = None
        self.handle = Handle(*arguments)
        self.address = self.handle.address

    def __del__(self):
        if self.handle:
            self.handle.release()


class Context(Owner):
    """Threads. Shared by everything that was made from it."""

    def __init__(self, threads: int = 0):
        super().__init__(lib.ssm2d_context_destroy, None, lib.ssm2d_context_create,
                         byref(ContextOptions(threads=threads)))

    @property
    def threads(self) -> int:
        return lib.ssm2d_context_threads(self.address)

    @property
    def cpu(self) -> str:
        return lib.ssm2d_context_cpu(self.address).decode()


contexts = {}  # threads: Context


def context(threads: int = 0) -> Context:
    found = contexts.get(threads)
    # setdefault: when two threads come at once, both get the same one
    return found if found is not None else contexts.setdefault(threads, Context(threads))


class Plan(Owner):
    """One layer on one size of input, and a pool of its workspaces."""
    __slots__ = ("free",)

    def __init__(self, context: Context, config, options: PlanOptions):
        super().__init__(lib.ssm2d_plan_destroy, context.handle, lib.ssm2d_plan_create,
                         context.address, config.address,
                         byref(options))
        self.free = []  # append and pop are atomic

    @property
    def algorithm(self) -> str:
        return lib.ssm2d_plan_algorithm(self.address).decode()

    @property
    def bytes(self) -> int:
        return lib.ssm2d_plan_bytes(self.address)

    def take(self) -> "Workspace":
        try:
            return self.free.pop()
        except IndexError:
            return Workspace(self)


class Workspace(Owner):
    """The memory of one execution. `owner` is whose forward is in it."""
    __slots__ = ("owner",)

    def __init__(self, plan: Plan):
        super().__init__(lib.ssm2d_workspace_destroy, plan.handle, lib.ssm2d_workspace_create,
                         plan.address)
        self.owner = None


class BaselinePlan(Owner):
    """One baseline on one size of input, and a pool of its workspaces."""
    __slots__ = ("free",)

    def __init__(self, context: Context, config, options: PlanOptions):
        super().__init__(lib.ssm2d_baseline_plan_destroy, context.handle,
                         lib.ssm2d_baseline_plan_create, context.address, config.address,
                         byref(options))
        self.free = []  # append and pop are atomic

    @property
    def algorithm(self) -> str:
        return lib.ssm2d_baseline_plan_algorithm(self.address).decode()

    def take(self) -> "BaselineWorkspace":
        try:
            return self.free.pop()
        except IndexError:
            return BaselineWorkspace(self)


class BaselineWorkspace(Owner):
    """The memory of one execution of a baseline."""
    __slots__ = ()

    def __init__(self, plan: BaselinePlan):
        super().__init__(lib.ssm2d_baseline_workspace_destroy, plan.handle,
                         lib.ssm2d_baseline_workspace_create, plan.address)
