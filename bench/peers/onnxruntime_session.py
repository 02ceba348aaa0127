"""A session of ONNX Runtime through its C interface, which libonnxruntime.so offers as a table of
functions; no header and no Python package of it is needed."""
import ctypes
import os

# Positions in the table OrtApi, which only ever grows at its end.
FUNCTIONS = {"GetErrorMessage": 2, "CreateEnv": 3, "CreateSession": 7, "CreateSessionOptions": 10,
             "SetOptimizedModelFilePath": 11, "SetSessionGraphOptimizationLevel": 23,
             "SetIntraOpNumThreads": 24, "SetInterOpNumThreads": 25,
             "CreateTensorWithDataAsOrtValue": 49, "CreateCpuMemoryInfo": 69,
             "AddSessionConfigEntry": 130, "RunWithBinding": 133, "CreateIoBinding": 134,
             "BindInput": 136, "BindOutput": 137}
VERSION = 14  # of the table: old enough for any library of the last years
WARNINGS, OPTIMISE_ALL, ARENA, DEFAULT_MEMORY, FLOAT = 3, 99, 1, 0, 1


class _ApiBase(ctypes.Structure):
    _fields_ = [("get_api", ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)),
                ("get_version", ctypes.CFUNCTYPE(ctypes.c_char_p))]


class Session:
    """Inputs and outputs are arrays of float that stay where they are."""

    def __init__(self, library: str, model: str, inputs: dict, outputs: dict, threads: int,
                 spinning: bool, optimised: str = ""):
        """inputs, outputs: arrays by the names that the model has for them. optimised: where to
        write the model as ONNX Runtime has rewritten it, if anywhere."""
        loaded = ctypes.CDLL(library)
        loaded.OrtGetApiBase.restype = ctypes.POINTER(_ApiBase)
        base = loaded.OrtGetApiBase().contents
        self.version = base.get_version().decode()
        table = base.get_api(VERSION)
        if not table:
            raise OSError(f"{library}: version {self.version} has no interface {VERSION}")
        self._table = ctypes.cast(table, ctypes.POINTER(ctypes.c_void_p))
        environment, options, memory = (ctypes.c_void_p() for _ in range(3))
        self._session, self._binding = ctypes.c_void_p(), ctypes.c_void_p()
        self._arrays = inputs, outputs  # kept alive
        self._call("CreateEnv", ctypes.c_int(WARNINGS), b"bench", ctypes.byref(environment))
        self._call("CreateSessionOptions", ctypes.byref(options))
        self._call("SetSessionGraphOptimizationLevel", options, ctypes.c_int(OPTIMISE_ALL))
        self._call("SetIntraOpNumThreads", options, ctypes.c_int(threads))
        self._call("SetInterOpNumThreads", options, ctypes.c_int(1))
        self._call("AddSessionConfigEntry", options, b"session.intra_op.allow_spinning",
                   b"1" if spinning else b"0")
        # as this library computes, and never slower
        self._call("AddSessionConfigEntry", options, b"session.set_denormal_as_zero", b"1")
        if optimised:
            self._call("SetOptimizedModelFilePath", options, os.fsencode(optimised))
        self._call("CreateSession", environment, os.fsencode(model), options,
                   ctypes.byref(self._session))
        self._call("CreateCpuMemoryInfo", ctypes.c_int(ARENA), ctypes.c_int(DEFAULT_MEMORY),
                   ctypes.byref(memory))
        self._call("CreateIoBinding", self._session, ctypes.byref(self._binding))
        for function, arrays in (("BindInput", inputs), ("BindOutput", outputs)):
            for name, array in arrays.items():
                self._call(function, self._binding, name.encode(), self._value(memory, array))
        self._run = self._function("RunWithBinding")

    def _function(self, name: str):
        address = self._table[FUNCTIONS[name]]
        return ctypes.CFUNCTYPE(ctypes.c_void_p)(address)

    def _check(self, status) -> None:
        if not status:
            return
        text = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)(
            self._table[FUNCTIONS["GetErrorMessage"]])
        raise OSError("ONNX Runtime: " + text(status).decode())

    def _call(self, name: str, *arguments) -> None:
        self._check(self._function(name)(*arguments))

    def _value(self, memory, array):
        value = ctypes.c_void_p()
        shape = (ctypes.c_int64 * array.ndim)(*array.shape)
        self._call("CreateTensorWithDataAsOrtValue", memory, ctypes.c_void_p(array.ctypes.data),
                   ctypes.c_size_t(array.nbytes), shape, ctypes.c_size_t(array.ndim),
                   ctypes.c_int(FLOAT), ctypes.byref(value))
        return value

    def run(self) -> None:
        self._check(self._run(self._session, None, self._binding))
