"""The kinds of layers, their options and their parameters, read from the library's own tables."""
import ctypes
import numbers
from collections import namedtuple
from types import MappingProxyType

from . import _library
from ._library import Setting, byref, lib

Option = namedtuple("Option", "name default minimum maximum choices allowed help type")
Param = namedtuple("Param", "name shape offset size decay system decay_paper")
# help: one line; options: {name: Option}; algorithms: their names; axes: supported numbers of grid
# axes; kernel, stream: whether the kind has kernels, and streams
Kind = namedtuple("Kind", "name help options algorithms axes kernel stream")
CAN_KERNEL, CAN_STREAM, CAN_GRID_1D = 1, 4, 16  # of ssm2d_kind_capabilities


def _listed(function, *arguments):
    """The items that a function of the library returns for 0, 1, .. until NULL."""
    i = 0
    while function(*arguments, i) is not None:
        yield function(*arguments, i).decode()
        i += 1


def _until_end(array) -> list:
    """The elements of a C array before its 0 or NULL."""
    found = []
    while array[len(found)]:
        found.append(array[len(found)])
    return found


def _read_option(s: Setting) -> Option:
    number = float if s.type == Setting.REAL else int
    default, choices, allowed = s.default_value, None, None
    if default is not None:
        default = default.decode()
        if s.type == Setting.FLAG:
            default = default == "true"
        elif s.type != Setting.CHOICE:
            default = number(default)
    if s.type == Setting.FLAG:
        choices = ["false", "true"]
    elif s.type == Setting.CHOICE:
        choices = [name.decode() for name in _until_end(s.choices)]
    elif s.allowed:
        allowed = _until_end(s.allowed)
    return Option(s.name.decode(), default, number(s.minimum), number(s.maximum), choices, allowed,
                  s.help.decode(), s.type)


def _read_kind(name: str) -> Kind:
    key, setting, found = name.encode(), Setting(), {}
    while lib.ssm2d_kind_setting_sized(key, len(found), byref(setting), ctypes.sizeof(Setting)):
        option = _read_option(setting)
        found[option.name] = option
    can = lib.ssm2d_kind_capabilities(key)
    axes = tuple(n for n in range(1, _library.AXES + 1) if can & CAN_GRID_1D << (n - 1))
    return Kind(name, lib.ssm2d_kind_help(key).decode(), MappingProxyType(found),
                tuple(_listed(lib.ssm2d_kind_algorithm, key)), axes, bool(can & CAN_KERNEL),
                bool(can & CAN_STREAM))


kinds = MappingProxyType({name: _read_kind(name) for name in _listed(lib.ssm2d_kind_name)})
options = kinds["ssm2d"].options


def describe(kind: str = "ssm2d") -> str:
    """A text with the options of a kind, one per line."""
    lines = []
    for o in kinds[kind].options.values():
        if o.type == Setting.FLAG:
            values = "bool"
        elif o.choices or o.allowed:
            values = " | ".join(map(str, o.choices or o.allowed))
        else:
            values = f"{o.minimum} to {o.maximum}"
        default = "must be given" if o.default is None else f"default {o.default}"
        lines.append(f"    {o.name}: {o.help} ({values}; {default})")
    return "\n".join(lines)


def _checked(option: Option, value):
    """The value converted to the option's type. The library checks the bounds of numbers."""
    if option.type == Setting.FLAG:
        if not isinstance(value, bool):
            raise TypeError(f"{option.name}={value!r}: use True or False")
        return value
    if option.type == Setting.CHOICE:
        if value not in option.choices:
            raise ValueError(f"{option.name}={value!r}: use one of "
                             f"{', '.join(map(repr, option.choices))}")
        return value
    if option.type == Setting.REAL:
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise TypeError(f"{option.name}={value!r}: use a number")
        return float(value)
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{option.name}={value!r}: use a whole number")
    return value.__index__()


def _expand_short_forms(given: dict) -> None:
    """The short forms of the 2-D SSM's options."""
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


class Config:
    """The options of a layer: those of its kind (see `ssm2d.kinds`). `Config(channels=6)` is for
    the 2-D SSM, which has two short forms: `complex` (False, True for polar, "polar", "cartesian")
    for `values`, and `trunc` (n or (rows, columns)) for `trunc_rows` and `trunc_cols`.

    settings: {name: value}, also available as attributes; params: the parameter arrays; total:
    their total number of elements."""

    def __init__(self, kind: str = "ssm2d", /, **given):
        if not isinstance(kind, str):
            raise TypeError(f"kind={kind!r}: use one of {', '.join(map(repr, kinds))}")
        if kind == "ssm2d":
            _expand_short_forms(given)
        known = kinds[kind].options if kind in kinds else {}
        values = {name: _checked(known[name], value) if name in known else ""
                  for name, value in given.items()}
        words = [f"{name}={str(value).lower() if isinstance(value, bool) else value}"
                 for name, value in values.items()]
        try:
            self._layer = _library.Layer(kind, " ".join(words))
        except ValueError as error:
            wanted = {o.name for o in known.values() if o.default is None}
            if known and not wanted <= set(given) <= set(known):  # a missing or an extra argument
                raise TypeError(str(error)) from None
            raise
        self.kind, self.address = kind, self._layer.address
        self.settings = MappingProxyType({name: values.get(name, o.default)
                                          for name, o in known.items()})
        # The settings as plain attributes too: torch.compile cannot look into a mapping proxy.
        self.__dict__.update(self.settings)
        self.key = kind, *self.settings.values()
        self.params = tuple(self._read_params())
        self.total = lib.ssm2d_layer_param_count(self.address)

    def _read_params(self):
        p, i = _library.Param(), 0
        while lib.ssm2d_layer_param_sized(self.address, i, byref(p), ctypes.sizeof(p)):
            yield Param(p.name.decode(), tuple(p.shape[:p.rank]), p.offset, p.count, bool(p.decay),
                        bool(p.system), bool(p.decay_paper))
            i += 1

    @property
    def changed(self) -> dict:
        """The settings that differ from the defaults."""
        return {name: value for name, value in self.settings.items()
                if value != kinds[self.kind].options[name].default}

    def __reduce__(self):
        return _restore, (dict(self.settings), self.kind)

    def __eq__(self, other):
        return isinstance(other, Config) and self.key == other.key

    def __hash__(self):
        return hash(self.key)

    def __repr__(self):
        kind = [] if self.kind == "ssm2d" else [repr(self.kind)]
        return f"Config({', '.join(kind + [f'{n}={v!r}' for n, v in self.changed.items()])})"


def _restore(values: dict, kind: str = "ssm2d") -> Config:
    return Config(kind, **values)
