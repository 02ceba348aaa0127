"""Atomic writing of files, and reading of JSON from untrusted files."""
import errno
import json
import math
import os
import secrets
import stat

MAX_JSON = 1 << 24  # bytes
DIGITS = "0123456789abcdefghijklmnopqrstuv"


def _sync_folder(folder: str) -> None:
    """Syncs a folder, so that a rename in it survives a power failure. Ignores file systems that
    cannot sync folders."""
    try:
        fd = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    except OSError:
        return
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno in (errno.EIO, errno.ENOSPC):
            raise
    finally:
        os.close(fd)


def write_whole(path, parts, overwrite: bool) -> None:
    """Writes the pieces of bytes as one file, atomically. Raises FileExistsError if the file
    exists, unless it may be replaced."""
    path = os.fspath(path)
    if os.path.lexists(path) and not overwrite:
        raise FileExistsError(f"{path}: exists already; overwrite=True replaces it")
    if os.path.exists(path) and not os.path.isfile(path):
        raise ValueError(f"{path}: is not a regular file")
    folder = os.path.dirname(path) or "."
    # named like the tool's temporary files, which it removes if they were left behind
    name = ".ssm2d-" + "".join(secrets.choice(DIGITS) for _ in range(10))
    temporary = os.path.join(folder, name)
    try:
        with open(temporary, "xb") as file:
            for part in parts:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        if overwrite:
            os.replace(temporary, path)
        else:
            _put(temporary, path)
    except BaseException:
        if os.path.lexists(temporary):
            os.unlink(temporary)
        raise
    _sync_folder(folder)


def _put(temporary: str, path: str) -> None:
    """Renames, unless the file exists by now."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise FileExistsError(f"{path}: exists already; overwrite=True replaces it") from None
    except OSError:  # a file system without links
        os.rename(temporary, path)
    else:
        os.unlink(temporary)


def _unique(pairs):
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice!r:.60} comes twice")
    return found


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text:.40} is not a number")
    return number


def parse_json(where, data: bytes) -> dict:
    """The JSON object in some bytes; ValueError, naming where they are from, if it has none."""
    try:
        value = json.loads(data.decode("utf-8"), object_pairs_hook=_unique, parse_float=_finite,
                           parse_constant=_finite)
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"{where}: is not JSON: {error}") from None
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    if not isinstance(value, dict):
        raise ValueError(f"{where}: is not a JSON object")
    return value


def read_json(path) -> dict:
    """The JSON object in a file of at most 16 MiB; ValueError, naming the file, if it has none."""
    path = os.fspath(path)
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # reading a pipe could block
            raise ValueError("is not a regular file")
        with open(path, "rb") as file:
            data = file.read(MAX_JSON + 1)
        if len(data) > MAX_JSON:
            raise ValueError(f"has more than {MAX_JSON} bytes")
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return parse_json(path, data)
