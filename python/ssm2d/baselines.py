"""What the baselines S4ND and EMA can be set to, and which parameters they then have: the library's
own tables, read from it."""
import ctypes
from types import MappingProxyType

import numpy as np

from ._library import BaselineParam, Field, byref, check, lib
from .config import Option, Param

KINDS = {"s4nd": 0, "ema": 1}  # by ssm2d_baseline_kind
INITS = ("identity", "authors")
SIZE = 32  # of either configuration


def _read(kind: str) -> dict:
    """Options of a kind by name, and the place and C type of each."""
    count = ctypes.c_size_t()
    fields = lib.ssm2d_baseline_fields(KINDS[kind], byref(count))
    table = {}
    for field in fields[:count.value]:
        text = field.default_value.decode() if field.default_value else "0"
        if field.kind == Field.FLAG:
            ctype, default, choices = ctypes.c_int, text == "true", ["false", "true"]
        elif field.kind == Field.REAL:
            ctype, default, choices = ctypes.c_double, float(text), None
        else:
            ctype, default, choices = ctypes.c_int, int(text), None
        option = Option(field.name.decode(), default, field.minimum, field.maximum, choices, None,
                        field.help.decode())
        table[option.name] = option, field.offset, ctype
    return table


_tables = {kind: _read(kind) for kind in KINDS}
options = MappingProxyType({kind: MappingProxyType({name: entry[0] for name, entry in t.items()})
                            for kind, t in _tables.items()})  # kind: {name: Option}


def describe(kind: str) -> str:
    """The options of a kind as a text, one a line."""
    lines = []
    for o in options[kind].values():
        values = "bool" if o.choices else f"{o.minimum:g} to {o.maximum:g}"
        default = "must be given" if o.name == "channels" else f"default {o.default}"
        lines.append(f"    {o.name}: {o.help} ({values}; {default})")
    return "\n".join(lines)


def _checked(option: Option, ctype, value):
    if option.choices:
        if value is True or value is False:
            return value
        raise TypeError(f"{option.name}={value!r}: use True or False")
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        if ctype is ctypes.c_int or not isinstance(value, float):
            wanted = "a whole number" if ctype is ctypes.c_int else "a number"
            raise TypeError(f"{option.name}={value!r}: use {wanted}")
    number = value.__index__() if ctype is ctypes.c_int else float(value)
    if not option.minimum <= number <= option.maximum:
        raise ValueError(f"{option.name}={number}: use {option.minimum:g} to {option.maximum:g}")
    return number


class BaselineConfig:
    """The options of a baseline, and its parameters."""

    def __init__(self, kind: str, **given):
        table = _tables[kind]
        for name in given:
            if name not in table:
                raise TypeError(f"{name}={given[name]!r}: there is no such option; there are "
                                f"{', '.join(table)}")
        if "channels" not in given:
            raise TypeError("channels: must be given")
        self.kind = kind
        self._buffer = (ctypes.c_char * SIZE)()
        self.address = ctypes.addressof(self._buffer)
        getattr(lib, f"ssm2d_{kind}_config_init")(self.address, SIZE)
        values = {}
        for name, (option, offset, ctype) in table.items():
            values[name] = _checked(option, ctype, given.get(name, option.default))
            ctype.from_buffer(self._buffer, offset).value = values[name]
        check(lib.ssm2d_baseline_config_check, self.address)
        self.settings = MappingProxyType(values)
        self.params = tuple(self._read_params())
        self.total = lib.ssm2d_baseline_param_total(self.address)

    def _read_params(self):
        p = BaselineParam()
        i = 0
        while lib.ssm2d_baseline_param_get(self.address, i, byref(p)):
            yield Param(p.name.decode(), tuple(p.shape[:p.rank]), p.offset, p.size, bool(p.decay))
            i += 1

    def init_params(self, init: str, seed: int) -> dict:
        """Initial values by name, in double. The same seed gives the same numbers everywhere."""
        if init not in INITS:
            raise ValueError(f"init={init!r}: use one of {', '.join(map(repr, INITS))}")
        flat = np.empty(self.total)
        check(lib.ssm2d_baseline_params_init, self.address, INITS.index(init), seed, 1,
              flat.ctypes.data)
        return {p.name: flat[p.offset:p.offset + p.size].reshape(p.shape) for p in self.params}

    def __getattr__(self, name):
        if name != "settings" and name in self.settings:
            return self.settings[name]
        raise AttributeError(name)

    def __reduce__(self):
        return _restore, (self.kind, dict(self.settings))


def _restore(kind: str, values: dict) -> BaselineConfig:
    return BaselineConfig(kind, **values)


def algorithms(kind: str) -> list:
    names = ["auto"]
    while lib.ssm2d_baseline_algorithm_name(KINDS[kind], len(names) - 1):
        names.append(lib.ssm2d_baseline_algorithm_name(KINDS[kind], len(names) - 1).decode())
    return names
