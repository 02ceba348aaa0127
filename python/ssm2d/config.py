"""What a layer can be set to, and which parameters it then has. Both are the library's own tables,
read from it."""
import ctypes
from collections import namedtuple
from types import MappingProxyType

from ._library import Field
from ._library import Param as _Param
from ._library import byref, check, lib

Option = namedtuple("Option", "name default minimum maximum choices allowed help")
Param = namedtuple("Param", "name shape offset size decay")


def _read_options() -> tuple:
    count = ctypes.c_size_t()
    fields = lib.ssm2d_config_fields(byref(count))
    table, offsets = {}, {}
    for field in fields[:count.value]:
        name = field.name.decode()
        choices = allowed = None
        low, high = int(field.minimum), int(field.maximum)
        if field.kind == Field.FLAG:
            choices = ["false", "true"]
        elif field.kind == Field.CHOICE:
            choices = [field.names[i].decode() for i in range(high + 1)]
        elif field.allowed:
            ends = next(i for i in range(high + 1) if not field.allowed[i])
            allowed = field.allowed[:ends]
        default = field.default_value.decode() if field.default_value else 0
        if field.kind == Field.FLAG:
            default = default == "true"
        elif field.kind == Field.INT:
            default = int(default)
        table[name] = Option(name, default, low, high, choices, allowed, field.help.decode())
        offsets[name] = field.offset
    return table, offsets


_options, _offsets = _read_options()
options = MappingProxyType(_options)  # name: Option
_unit = ctypes.sizeof(ctypes.c_size_t)  # of the first member, the size, which aligns the rest
_size = -(-(max(_offsets.values()) + ctypes.sizeof(ctypes.c_int)) // _unit) * _unit


def describe() -> str:
    """The options as a text, one a line."""
    lines = []
    for o in options.values():
        if o.choices == ["false", "true"]:
            values = "bool"
        elif o.choices or o.allowed:
            values = " | ".join(map(str, o.choices or o.allowed))
        else:
            values = f"{o.minimum} to {o.maximum}"
        default = "must be given" if o.name == "channels" else f"default {o.default}"
        lines.append(f"    {o.name}: {o.help} ({values}; {default})")
    return "\n".join(lines)


def _number(option: Option, value) -> int:
    """The library's number for a value, which may be a name."""
    if option.choices == ["false", "true"]:
        if value is True or value is False:
            return int(value)
        raise TypeError(f"{option.name}={value!r}: use True or False")
    if option.choices:
        if value in option.choices:
            return option.choices.index(value) + option.minimum
        raise ValueError(f"{option.name}={value!r}: use one of "
                         f"{', '.join(map(repr, option.choices))}")
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{option.name}={value!r}: use a whole number")
    number = value.__index__()
    if not option.minimum <= number <= option.maximum:
        raise ValueError(f"{option.name}={number}: use {option.minimum} to {option.maximum}")
    return number


class Config:
    """A layer's options. Besides the library's own (see `ssm2d.options`), two short forms:
    `complex` (False, True for polar, "polar", "cartesian") for `values`, and `trunc` (n or (rows,
    columns)) for `trunc_rows` and `trunc_cols`."""

    def __init__(self, **given):
        if "complex" in given:
            short = given.pop("complex")
            if "values" in given:
                raise ValueError(f"complex={short!r}: give complex or values, not both")
            if short not in (False, True, "polar", "cartesian"):
                raise ValueError(f"complex={short!r}: use False, True, 'polar' or 'cartesian'")
            given["values"] = short if isinstance(short, str) else "polar" if short else "real"
        if "trunc" in given:
            short = given.pop("trunc")
            try:
                pair = short if isinstance(short, (tuple, list)) else (short, short)
                given["trunc_rows"], given["trunc_cols"] = pair
            except ValueError:
                raise ValueError(f"trunc={short!r}: use a number or (rows, columns)") from None
        for name in given:
            if name not in options:
                raise TypeError(f"{name}={given[name]!r}: there is no such option; there are "
                                f"{', '.join(options)}")
        if "channels" not in given:
            raise TypeError("channels: must be given")
        self._buffer = (ctypes.c_char * _size)()
        self.address = ctypes.addressof(self._buffer)
        lib.ssm2d_config_init(self.address, _size)
        values = {}
        for name, option in options.items():
            value = given.get(name, option.default)
            number = _number(option, value)
            ctypes.c_int.from_buffer(self._buffer, _offsets[name]).value = number
            values[name] = value if option.choices else number
        check(lib.ssm2d_config_check, self.address)
        self.settings = MappingProxyType(values)
        self.key = tuple(values.values())
        self.params = tuple(self._read_params())
        self.total = lib.ssm2d_param_total(self.address)

    def _read_params(self):
        p = _Param()
        i = 0
        while lib.ssm2d_param_get(self.address, i, byref(p)):
            yield Param(p.name.decode(), tuple(p.shape[:p.rank]), p.offset, p.size, bool(p.decay))
            i += 1

    def __getattr__(self, name):
        if name != "settings" and name in self.settings:
            return self.settings[name]
        raise AttributeError(name)

    def __reduce__(self):
        return _restore, (dict(self.settings),)

    def __eq__(self, other):
        return isinstance(other, Config) and self.key == other.key

    def __hash__(self):
        return hash(self.key)

    def __repr__(self):
        changed = [f"{n}={v!r}" for n, v in self.settings.items()
                   if n == "channels" or v != options[n].default]
        return f"Config({', '.join(changed)})"

    @property
    def flips(self) -> tuple:
        """(rows, columns) for each direction: whether it looks from the other side."""
        if self.directions == 4:
            return (False, False), (True, False), (False, True), (True, True)
        second = (False, True) if self.pair == "columns" else (True, True)
        return ((False, False), second)[:self.directions]

    @property
    def first_systems(self) -> tuple:
        """For each direction that has systems of its own (one when they share them): channel h uses
        system first + h, modulo the number of systems."""
        if self.share_directions:
            return (0,)
        step = self.n_ssm if self.assign == "distinct" else self.channels
        return tuple(r * step for r in range(self.directions))


def _restore(values: dict) -> Config:
    return Config(**values)
