"""ctypes bindings of the C library: finding it, the declarations of include/ssm2d.h, and objects
that own its handles."""
import ctypes
import ctypes.util
import os
import sys
from ctypes import (POINTER, byref, c_char_p, c_double, c_int, c_size_t, c_ssize_t, c_uint,
                    c_uint64, c_void_p)

API = (0, 3)  # the version of include/ssm2d.h that the declarations below are taken from
AXES = 3      # SSM2D_GRID_AXES
FLOAT, DOUBLE = range(2)  # ssm2d_type


class Sized(ctypes.Structure):
    """A structure that begins with its size, from which the library infers its version."""

    def __init__(self, **values):
        super().__init__(size=ctypes.sizeof(type(self)), **values)


class ContextOptions(Sized):
    _fields_ = [("size", c_size_t), ("threads", c_int), ("cpu", c_char_p),
                ("allocate", c_void_p), ("release", c_void_p), ("user", c_void_p)]


class Setting(ctypes.Structure):
    INT, REAL, FLAG, CHOICE = range(4)  # of type
    _fields_ = [("name", c_char_p), ("help", c_char_p), ("type", c_int),
                ("minimum", c_double), ("maximum", c_double), ("default_value", c_char_p),
                ("choices", POINTER(c_char_p)), ("allowed", POINTER(c_int))]


class Param(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("rank", c_int), ("shape", c_size_t * 5), ("offset", c_size_t),
                ("count", c_size_t), ("decay", c_int), ("system", c_int), ("decay_paper", c_int)]


class Grid(ctypes.Structure):
    _fields_ = [("axes", c_int), ("extent", c_size_t * AXES)]


class Strides(ctypes.Structure):
    _fields_ = [("batch", c_ssize_t), ("axis", c_ssize_t * AXES), ("channel", c_ssize_t)]


class PlanOptions(Sized):
    _fields_ = [("size", c_size_t), ("batch", c_size_t), ("grid", Grid), ("type", c_int),
                ("algorithm", c_char_p), ("measure", c_int), ("inference", c_int),
                ("max_bytes", c_size_t), ("input", Strides), ("output", Strides)]


class Error(ctypes.Structure):
    _fields_ = [("line", ctypes.c_char * 512)]


STATUS, HANDLE, ERROR = "status", POINTER(c_void_p), POINTER(Error)
# name: (result, arguments), without the prefix ssm2d_. Handles and arrays are plain addresses. A
# name that ends in * is two functions: for float, and with the suffix _double for double.
PROTOTYPES = {
    "version": (c_char_p, []),
    "status_name": (c_char_p, [c_int]),
    "context_create": (STATUS, [POINTER(ContextOptions), HANDLE, ERROR]),
    "context_destroy": (None, [c_void_p]),
    "context_threads": (c_int, [c_void_p]),
    "context_cpu": (c_char_p, [c_void_p]),
    "kind_name": (c_char_p, [c_int]),
    "kind_help": (c_char_p, [c_char_p]),
    "kind_algorithm": (c_char_p, [c_char_p, c_int]),
    "kind_setting_sized": (c_int, [c_char_p, c_int, POINTER(Setting), c_size_t]),
    "kind_capabilities": (c_uint, [c_char_p]),
    "layer_create": (STATUS, [c_void_p, c_char_p, c_char_p, HANDLE, ERROR]),
    "layer_destroy": (None, [c_void_p]),
    "layer_settings": (c_int, [c_void_p, c_char_p, c_size_t]),
    "layer_param_sized": (c_int, [c_void_p, c_int, POINTER(Param), c_size_t]),
    "layer_param_count": (c_size_t, [c_void_p]),
    "params_init*": (STATUS, [c_void_p, c_uint64, c_void_p, ERROR]),
    "params_check*": (STATUS, [c_void_p, c_void_p, ERROR]),
    "plan_create": (STATUS, [c_void_p, c_void_p, POINTER(PlanOptions), HANDLE, ERROR]),
    "plan_destroy": (None, [c_void_p]),
    "plan_algorithm": (c_char_p, [c_void_p]),
    "plan_bytes": (c_size_t, [c_void_p]),
    "workspace_create": (STATUS, [c_void_p, HANDLE, ERROR]),
    "workspace_destroy": (None, [c_void_p]),
    "forward*": (STATUS, [c_void_p] * 5),
    "prepare*": (STATUS, [c_void_p] * 3),
    "apply*": (STATUS, [c_void_p] * 4),
    "backward*": (STATUS, [c_void_p] * 7),
    "kernel_shape": (c_int, [c_void_p, POINTER(c_size_t)]),
    "kernel*": (STATUS, [c_void_p] * 4),
    "stream_create*": (STATUS, [c_void_p, c_void_p, c_size_t, c_size_t, c_void_p, HANDLE, ERROR]),
    "stream_push*": (STATUS, [c_void_p] * 3),
    "stream_reset": (STATUS, [c_void_p]),
    "stream_destroy": (None, [c_void_p]),
}
EXCEPTIONS = {1: ValueError, 2: MemoryError, 3: ValueError, 4: OSError}  # by ssm2d_status

HOW_TO_BUILD = """Build it in a clone of the project:
    cmake -S . -B build/python -DCMAKE_BUILD_TYPE=Release -DSSM2D_TOOL=OFF -DSSM2D_TESTS=OFF
    cmake --build build/python
and set SSM2D_LIBRARY=<clone>/build/python/src/libssm2d.so, or install library and package
together:
    pip install <clone>"""


def candidates() -> list:
    """Candidate paths of the library, in order of preference: SSM2D_LIBRARY, this folder, the
    system."""
    given = os.environ.get("SSM2D_LIBRARY")
    if given:
        return [given]  # the requested file and no other
    name = "libssm2d.dylib" if sys.platform == "darwin" else "libssm2d.so"
    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
    if os.path.exists(own):
        return [own]
    # until 1.0 the shared library's name has the minor version
    versioned = ".".join([name, *map(str, API if API[0] == 0 else API[:1])])
    return [path for path in (versioned, ctypes.util.find_library("ssm2d"), name) if path]


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
        library.ssm2d_version.restype = c_char_p
        version = library.ssm2d_version().decode()
        if tuple(int(part) for part in version.split(".")[:2]) != API:
            raise ImportError(f"{path} is ssm2d {version}, but this package is made for "
                              f"{API[0]}.{API[1]}.\n{HOW_TO_BUILD}")
        for name, (result, arguments) in PROTOTYPES.items():
            for suffix in ("", "_double") if name.endswith("*") else ("",):
                function = getattr(library, "ssm2d_" + name.rstrip("*") + suffix)
                function.argtypes = arguments
                function.restype = c_int if result is STATUS else result
                if result is STATUS and arguments[-1] is not ERROR:
                    function.errcheck = raise_status
    except AttributeError as error:
        raise ImportError(f"{path} is not the ssm2d library of this package: "
                          f"{error}\n{HOW_TO_BUILD}") from None
    library.path = path
    return library


def raise_status(status, function, arguments):
    """Raises an exception for a status; for functions without an ssm2d_error argument."""
    if status:
        reason = lib.ssm2d_status_name(status).decode()
        raise EXCEPTIONS.get(status, RuntimeError)(f"{function.__name__}: {reason}")


lib = load()


def typed(name: str, type: int):
    """The function of that name for a floating-point type."""
    return getattr(lib, name + "_double" if type == DOUBLE else name)


def check(function, *arguments) -> None:
    """Calls a function whose last argument is `ssm2d_error *` and raises the error that it
    reports."""
    error = Error()
    status = function(*arguments, byref(error))
    if status:
        raise EXCEPTIONS.get(status, RuntimeError)(error.line.decode(errors="replace"))


class Handle:
    """A reference-counted object of the library. It is destroyed once its owner and all objects
    created from it have released it, in any order, because the garbage collector finalises the
    members of a cycle in any order."""
    __slots__ = ("address", "destroy", "parent", "others")

    def __init__(self, destroy, parent, create, *arguments):
        address = c_void_p()
        check(create, *arguments, byref(address))
        self.address, self.destroy, self.parent = address.value, destroy, parent
        self.others = []  # one entry per additional user; append and pop are atomic
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
    """A pool of threads, shared by all objects created from it."""

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
    # setdefault: two threads that get here at the same time receive the same one
    return found if found is not None else contexts.setdefault(threads, Context(threads))


class Layer(Owner):
    """A layer of a kind; settings are given as words key=value."""

    def __init__(self, kind: str, settings: str):
        own = context(1)
        super().__init__(lib.ssm2d_layer_destroy, own.handle, lib.ssm2d_layer_create, own.address,
                         kind.encode(), settings.encode())


class Plan(Owner):
    """A layer planned for one size of input, the functions that execute it, and a pool of its
    workspaces."""
    __slots__ = ("free", "forward", "prepare", "apply", "backward", "kernel")

    def __init__(self, context: Context, layer, options: PlanOptions):
        super().__init__(lib.ssm2d_plan_destroy, context.handle, lib.ssm2d_plan_create,
                         context.address, layer.address, byref(options))
        for name in ("forward", "prepare", "apply", "backward", "kernel"):
            setattr(self, name, typed("ssm2d_" + name, options.type))
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
    """The memory of one execution."""

    def __init__(self, plan: Plan):
        super().__init__(lib.ssm2d_workspace_destroy, plan.handle, lib.ssm2d_workspace_create,
                         plan.address)
