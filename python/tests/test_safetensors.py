"""The reader of safetensors files, on valid and on hostile files."""
import json
import os
import struct
import tempfile
import unittest

import numpy as np

import ssm2d


def write(path: str, header, data: bytes = b"", length=None) -> None:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text) if length is None else length) + text + data)


def pack(arrays: dict) -> tuple:
    """(header, data) of float arrays."""
    header, data = {"__metadata__": {"made": "here"}}, b""
    for name, array in arrays.items():
        part = array.tobytes()
        header[name] = {"dtype": {"f4": "F32", "f8": "F64", "i8": "I64"}[array.dtype.str[1:]],
                        "shape": list(array.shape),
                        "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    return header, data


class Safetensors(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "file.safetensors")

    def test_saved_arrays_load_unchanged(self):
        arrays = {"a.b": np.arange(6, dtype="f4").reshape(2, 3), "c": np.array(1.5),
                  "empty": np.zeros((0, 4), "f4"),
                  "n": np.arange(3)}
        write(self.path, *pack(arrays))
        found = ssm2d.load_safetensors(self.path)
        self.assertEqual(list(found), list(arrays))
        for name in arrays:
            np.testing.assert_array_equal(found[name], arrays[name])
            self.assertEqual(found[name].shape, arrays[name].shape)
        found["a.b"][0] = 7  # not read-only

    def test_reserved_name_is_refused(self):
        for metadata in (None, {"made": "here"}):
            with self.assertRaisesRegex(ValueError, "__metadata__: an array cannot have this name"):
                ssm2d.save_safetensors(self.path, {"__metadata__": np.zeros(2)}, metadata)
            self.assertFalse(os.path.exists(self.path))

    def test_bfloat16(self):
        values = np.array([1, -2.5, 3e38], "f4")
        short = (values.view("u4") >> 16).astype("<u2")
        write(self.path, {"x": {"dtype": "BF16", "shape": [3], "data_offsets": [0, 6]}},
              short.tobytes())
        np.testing.assert_allclose(ssm2d.load_safetensors(self.path)["x"], values, rtol=1e-2)

    def test_hostile_files_are_refused(self):
        good = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
        for what, header, data, length in (
                ("header of", b"{}", b"", 1 << 62), ("header of", b"{}", b"", 3),
                ("not JSON", b"{", b"", None),
                ("not JSON", b"\xff\xfe", b"", None), ("not JSON", b"[" * 100000, b"", None),
                ("not a JSON object", b"[]", b"", None),
                ("occurs twice", b'{"a": {}, "a": {}}', b"", None),
                ("not an object", {"a": 3}, b"", None),
                ("dtype", {"a": {**good, "dtype": "F33"}}, bytes(8), None),
                ("dtype", {"a": {**good, "dtype": ["F32"]}}, bytes(8), None),
                ("shape", {"a": {**good, "shape": [-2]}}, bytes(8), None),
                ("shape", {"a": {**good, "shape": 2}}, bytes(8), None),
                ("shape", {"a": {**good, "shape": [2.0]}}, bytes(8), None),
                ("shape", {"a": {**good, "shape": [True, 2]}}, bytes(8), None),
                ("shape", {"a": {**good, "shape": [1] * 40 + [2]}}, bytes(8), None),
                ("data_offsets", {"a": {**good, "data_offsets": [0, 9]}}, bytes(8), None),
                ("data_offsets", {"a": {**good, "data_offsets": [8, 0]}}, bytes(8), None),
                ("data_offsets", {"a": {**good, "data_offsets": [-8, 0]}}, bytes(8), None),
                ("data_offsets", {"a": {**good, "data_offsets": [0]}}, bytes(8), None),
                ("bytes", {"a": {**good, "shape": [1 << 40, 1 << 40]}}, bytes(8), None),
                ("bytes", {"a": {**good, "shape": [3]}}, bytes(8), None),
                ("overlap", {"a": good, "b": {**good, "data_offsets": [4, 12]}}, bytes(12), None)):
            write(self.path, header, data, length)
            with self.assertRaises(ValueError, msg=(what, header)) as caught:
                ssm2d.load_safetensors(self.path)
            self.assertIn(what, str(caught.exception))
            self.assertIn(self.path, str(caught.exception))
        with open(self.path, "wb") as file:
            file.write(b"1234567")
        with self.assertRaisesRegex(ValueError, "8 bytes"):
            ssm2d.load_safetensors(self.path)
        with self.assertRaises(FileNotFoundError):
            ssm2d.load_safetensors(self.path + ".not")
