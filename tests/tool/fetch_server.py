"""fetch_server.py FOLDER - a server on the loopback with the faults that downloads meet.

Serves the files of FOLDER/published below /FAULT/, where FAULT says how (the table `faults`), on
http and, with FOLDER/cert.pem, on https. Writes the ports to FOLDER/ports once it listens, and
every request with its range to FOLDER/log. Ends when its standard input is closed.

    fetch_server.py --make FOLDER

writes the small published files of tests/tool/fetch_sources.c, the same bytes on every machine."""
import http.server
import io
import os
import ssl
import struct
import sys
import tarfile
import threading
import time
import zipfile
import zlib


def gzipped(data):
    """A gzip file of stored blocks, which does not depend on the compressor."""
    out = b"\x1f\x8b\x08\0\0\0\0\0\0\x03"
    blocks = [data[i : i + 50000] for i in range(0, len(data), 50000)] or [b""]
    for i, block in enumerate(blocks):
        out += struct.pack("<BHH", i == len(blocks) - 1, len(block), len(block) ^ 0xFFFF) + block
    return out + struct.pack("<II", zlib.crc32(data), len(data))


def tar(files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as t:
        for name, data in files:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            t.addfile(info, io.BytesIO(data))
    return out.getvalue()


def zipped(files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as z:
        for name, data in files:
            z.writestr(zipfile.ZipInfo(name), data)
    return out.getvalue()


def make(folder):
    images = bytes((i * 7 + i // 256) % 256 for i in range(200000))
    labels = bytes(i % 10 for i in range(500))
    files = {
        "small.tar.gz": gzipped(tar([("small/more.txt", b"not asked for\n"),
                                     ("small/images.bin", images),
                                     ("small/names.txt", b"a\nb\n")])),
        "images.gz": gzipped(images),
        "labels.gz": gzipped(labels),
        "tree.zip": zipped([("tree/words.txt", b"n1\tcat\n"), ("tree/test/0.JPEG", b"unlabelled")]
                           + [(f"tree/train/n{i}/images/n{i}_0.JPEG", b"image %d" % i)
                              for i in range(3)] + [("tree/val/val_0.JPEG", b"val")]),
    }
    for name, data in files.items():
        with open(os.path.join(folder, name), "wb") as f:
            f.write(data)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    calls = {}  # how often a path was asked for

    def log_message(self, *_):
        pass

    def head(self, status, length=None, **headers):
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key.replace("_", "-"), value)
        if length is not None:
            self.send_header("Content-Length", str(length))
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True

    def part(self, data, sent, length=None):
        """Answers with the range that is asked for, of which only `sent` bytes are sent."""
        rest = data[self.begin :]
        length = len(rest) if length is None else length
        if self.begin:
            self.head(206, length,
                      Content_Range=f"bytes {self.begin}-{len(data) - 1}/{len(data)}")
        else:
            self.head(200, length)
        self.wfile.write(rest[:sent])

    def do_GET(self):
        fault, _, name = self.path.lstrip("/").partition("/")
        name = name.rpartition("/")[2]
        asked = self.headers.get("Range", "")
        self.begin = int(asked[6:].split("-")[0]) if asked else 0
        first = self.calls.setdefault(self.path, 0) == 0
        self.calls[self.path] += 1
        with open(os.path.join(folder, "log"), "a") as log:
            log.write(f"{self.path} {asked}\n")
        try:
            with open(os.path.join(folder, "published", name), "rb") as f:
                data = f.read()
        except OSError:
            return self.head(404, 0)
        if data and self.begin >= len(data):
            return self.head(416, 0)
        faults.get(fault, lambda *_: self.head(404, 0))(self, data, first)


def endless(h, data, first):
    h.head(200)
    while True:
        h.wfile.write(b"x" * 65536)


def stalls(h, data, first):
    h.part(data, 3000 if first else 0)
    h.wfile.flush()
    time.sleep(4)


def slow(h, data, first):
    h.part(data, 50000)
    for i in range(50000, len(data), 500):
        h.wfile.write(data[i : i + 500])
        time.sleep(0.05)


def other_range(h, data, first):
    if not h.begin:
        return h.part(data, 50000)
    h.head(206, 100, Content_Range=f"bytes 0-99/{len(data)}")
    h.wfile.write(data[:100])


def ignores_range(h, data, first):
    h.begin = 0
    h.part(data, 50000 if first else len(data))


def redirects(h, data, first):
    count = int(h.path.split("/")[2])
    h.head(302, 0, Location=f"/redirects/{count - 1}/images.gz" if count else "/good/images.gz")


def no_length(h, data, first):
    h.head(200)
    h.wfile.write(data)


def page(h, data, first):
    h.head(200, 21)
    h.wfile.write(b"<html>Log in!</html>\n")


faults = {
    "good": lambda h, data, first: h.part(data, len(data)),
    "breaks": lambda h, data, first: h.part(data, 60000),  # and continues when asked to
    "stalls": stalls,
    "slow": slow,
    "longer": lambda h, data, first: h.part(data, len(data), len(data) + 1000),
    "shorter": lambda h, data, first: h.part(data, len(data) // 2, len(data) // 2),
    "endless": endless,
    "wrong": lambda h, data, first: h.part(data[:-1] + bytes([data[-1] ^ 1]), len(data)),
    "no-length": no_length,
    "nothing": lambda h, data, first: h.head(200, 0),
    "page": page,
    "other-range": other_range,
    "ignores-range": ignores_range,
    "redirects": redirects,
    "loop": lambda h, data, first: h.head(302, 0, Location=h.path),
    "to-http": lambda h, data, first: h.head(302, 0, Location=f"http://127.0.0.1:{ports[0]}/good/"
                                             + h.path.rpartition("/")[2]),
    "to-file": lambda h, data, first: h.head(302, 0, Location="file:///etc/passwd"),
    "500": lambda h, data, first: h.head(500, 0),
    "500-once": lambda h, data, first: h.head(500, 0) if first else h.part(data, len(data)),
}


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):  # a client that closes is no error
        pass


if sys.argv[1] == "--make":
    make(sys.argv[2])
    sys.exit()
folder, ports = sys.argv[1], []
for name in "http", "https":
    server = Server(("127.0.0.1", 0), Handler)
    certificate = os.path.join(folder, "cert.pem")
    if name == "https" and os.path.exists(certificate):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    ports.append(server.server_address[1])
    threading.Thread(target=server.serve_forever, daemon=True).start()
with open(os.path.join(folder, "ports.new"), "w") as f:
    print(*ports, file=f)
os.rename(os.path.join(folder, "ports.new"), os.path.join(folder, "ports"))
sys.stdin.read()
