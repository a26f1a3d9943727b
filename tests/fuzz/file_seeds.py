#!/usr/bin/env python3
"""file_seeds.py FOLDER: a small file of every format for tests/fuzz/files.cpp to begin with, each behind the byte that
chooses it."""

import gzip
import io
import struct
import sys
import tarfile
import zipfile
from pathlib import Path

CSV, NPY, NPZ, SAFETENSORS, TFRECORD, EXAMPLE, TAR, SAVED, IDX, STATE, MEMBERS, LISTED = range(12)
MEND = 0x80


def npy(shape="(4, 3)", numbers=b"abcdefghijkl"):
    header = "{'descr': '|u1', 'fortran_order': False, 'shape': " + shape + ", }\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + numbers


def npz(method):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as z:
        z.writestr("x.npy", npy())
        z.writestr("y.npy", npy("(2,)", b"ab"))
    return out.getvalue()


def field(number, data):
    return bytes([number << 3 | 2, len(data)]) + data


def feature(name, kind, values):
    return field(1, field(1, name) + field(2, field(kind, values)))


def record(data):
    return struct.pack("<QI", len(data), 0) + data + bytes(4)  # MEND writes the checksums


def tar():
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as t:
        for name, data in (("a/1.jpg", b"picture"), ("a/1.cls", b"7"), ("a/" + "n" * 120 + ".jpg", b"p"), ("a/" + "n" * 120 + ".cls", b"8")):
            about = tarfile.TarInfo(name)
            about.size = len(data)
            t.addfile(about, io.BytesIO(data))
    return out.getvalue()


EXAMPLES = field(1, feature(b"image", 1, field(1, b"bytes")) + feature(b"label", 3, field(1, b"\x07\x08")) + feature(b"x", 2, field(1, struct.pack("<2f", 1, 2))))
TENSORS = b'{"__metadata__":{"a":"\\u00e9"},"x":{"dtype":"U8","shape":[4,3],"data_offsets":[0,12]}}'
SAVED_PAIR = struct.pack("<QQ", 2, 3) + b"abc" + struct.pack("<Q", 0) + bytes([0, 0, 0]) + struct.pack("<3i", 2, 2, 1) + b"wxyz"
ARRAY = b"\x00\x00\x08\x02" + struct.pack(">2I", 4, 3) + b"abcdefghijkl"
LABELS = b"\x00\x00\x08\x01" + struct.pack(">I", 4) + b"\x00\x01\x02\x03"
STATE_BYTES = b"wick-st\n" + struct.pack("<II17Q", 5, 0, *range(17)) + struct.pack("<HB", 1, 4) + b"read" + struct.pack("<QQ", 7, 0)
TWO_MEMBERS = struct.pack("<Q", 2) + b"\x00\x05a.jpg\x00\x00\x03" + b"\x02\x03cls\x00\x04\x017"
SEEDS = {
    "csv": (CSV, b'path,label,x\r\na.jpg,1,2.5\r\n"b,""c"".jpg",2,3e4\r\n\r\n'),
    "csv_long": (CSV, b"path,label\n" + b"folder/file.jpg,12\n" * 20),
    "npy": (NPY, npy()),
    "npz": (NPZ, npz(zipfile.ZIP_STORED)),
    "npz_packed": (NPZ, npz(zipfile.ZIP_DEFLATED)),
    "safetensors": (SAFETENSORS, struct.pack("<Q", len(TENSORS)) + TENSORS + b"abcdefghijkl"),
    "tfrecord": (TFRECORD | MEND, record(b"one") + record(b"") + record(EXAMPLES)),
    "example": (EXAMPLE, EXAMPLES),
    "tar": (TAR, tar()),
    "saved": (SAVED, SAVED_PAIR),
    "idx": (IDX, ARRAY + LABELS),
    "idx_packed": (IDX, gzip.compress(ARRAY) + LABELS),
    "state": (STATE, STATE_BYTES),
    "members": (MEMBERS, TWO_MEMBERS),
    "listed": (LISTED, b'{"index":1,"key":"b","stage":"read"}\n'),
}

folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
for name, (chosen, data) in SEEDS.items():
    (folder / name).write_bytes(bytes([chosen]) + data)
