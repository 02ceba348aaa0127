"""Reads and writes safetensors files, which `ssm2d train` writes: a length, a JSON header, the
arrays. Needs NumPy only."""
import json
import os
import struct

import numpy as np

from .files import write_whole

TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4",
         "I16": "<i2", "I8": "i1",
         "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1", "BOOL": "?"}
MAX_HEADER = 100_000_000
MAX_RANK = 32


def _unique(pairs):
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name occurs twice")
    return found


def _whole(value) -> bool:
    return type(value) is int and value >= 0


def _entry(name: str, entry, available: int) -> tuple:
    """(begin, end, dtype, shape) of one array, checked."""
    if not isinstance(entry, dict):
        raise ValueError(f"{name}: not an object")
    kind, shape, offsets = entry.get("dtype"), entry.get("shape"), entry.get("data_offsets")
    if kind not in TYPES if isinstance(kind, str) else True:
        raise ValueError(f"{name}: dtype {kind!r}; known are {', '.join(TYPES)}")
    if not isinstance(shape, list) or not all(map(_whole, shape)) or len(shape) > MAX_RANK:
        raise ValueError(f"{name}: shape {shape!r:.80}, expected a list of sizes")
    if not isinstance(offsets, list) or len(offsets) != 2 or not all(map(_whole, offsets)):
        raise ValueError(f"{name}: data_offsets {offsets!r:.80}, expected [begin, end]")
    begin, end = offsets
    if not begin <= end <= available:
        raise ValueError(f"{name}: data_offsets {offsets} outside the {available} bytes of data")
    size = np.dtype(TYPES[kind]).itemsize
    for side in shape:
        size *= side  # a Python int: cannot overflow
    if size != end - begin:
        raise ValueError(f"{name}: {kind} of shape {shape} is {size} bytes, but data_offsets are "
                         f"{offsets}")
    return begin, end, kind, shape


def _notes(metadata) -> dict:
    if metadata is None:
        return {}
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise ValueError("__metadata__: not an object of texts")
    return metadata


def load_safetensors(path) -> dict:
    """The arrays of a file by name; BF16 becomes float32. Raises ValueError, naming the file, if
    the file is invalid."""
    return read_safetensors(path)[0]


def read_safetensors(path) -> tuple:
    """(the arrays of a file by name, its metadata: texts by name)"""
    path = os.fspath(path)
    with open(path, "rb") as file:
        length = os.fstat(file.fileno()).st_size
        start = file.read(8)
        try:
            if len(start) < 8:
                raise ValueError("shorter than 8 bytes")
            header_length, = struct.unpack("<Q", start)
            if header_length > min(MAX_HEADER, length - 8):
                raise ValueError(f"a header of {header_length} bytes in a file of {length}")
            text = file.read(header_length)
            try:
                header = json.loads(text.decode("utf-8"), object_pairs_hook=_unique)
            except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
                raise ValueError(f"the header is not JSON: {error}") from None
            if not isinstance(header, dict):
                raise ValueError("the header is not a JSON object")
            notes = _notes(header.pop("__metadata__", None))
            entries = {n: _entry(n, e, length - 8 - header_length) for n, e in header.items()}
            last = ""
            position = 0
            for name, (begin, end, _, _) in sorted(entries.items(), key=lambda item: item[1][:2]):
                if begin < position:
                    raise ValueError(f"{name} and {last} overlap")
                position, last = end, name
            arrays = {}
            for name, (begin, end, kind, shape) in entries.items():
                file.seek(8 + header_length + begin)
                data = file.read(end - begin)
                if len(data) != end - begin:
                    raise ValueError(f"{name}: the file ends early")
                array = np.frombuffer(bytearray(data), TYPES[kind]).reshape(shape)
                arrays[name] = (array.astype("<u4") << 16).view("<f4") if kind == "BF16" else array
            return arrays, notes
        except ValueError as error:
            raise ValueError(f"{path}: not a valid safetensors file: {error}") from None


def save_safetensors(path, arrays: dict, metadata: dict = None, *, overwrite: bool = False) -> None:
    """Writes arrays by name, and metadata, texts by name. The file is written atomically; an
    existing one is replaced only with overwrite=True."""
    header, parts, position = {}, [], 0
    if metadata:
        header["__metadata__"] = dict(metadata)
    kinds = {dtype: kind for kind, dtype in TYPES.items() if kind != "BF16"}
    for name, array in arrays.items():
        if name == "__metadata__":
            raise ValueError("__metadata__: an array cannot have this name, which the format keeps "
                             "for metadata")
        array = np.asarray(array)
        kind = kinds.get(array.dtype.newbyteorder("<").str.replace("|b1", "?").replace("|", ""))
        if kind is None:
            raise TypeError(f"{name}: dtype {array.dtype}; use one of "
                            f"{', '.join(str(np.dtype(d)) for d in kinds)}")
        data = np.ascontiguousarray(array, TYPES[kind])
        header[name] = {"dtype": kind, "shape": list(array.shape),
                        "data_offsets": [position, position + data.nbytes]}
        position += data.nbytes
        parts.append(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # so that the arrays are aligned
    write_whole(path, [struct.pack("<Q", len(text)), text, *(p.tobytes() for p in parts)],
                overwrite)
