"""Paths of Python programs: text, bytes, pathlib, any os.PathLike, and the home folder."""

import os
import pathlib
import unittest

import wick_bridge


class Own:
    def __fspath__(self):
        return "~/own"


class Paths(unittest.TestCase):
    def test_kinds(self):
        given = wick_bridge.path_bytes
        home = os.fsencode(os.path.expanduser("~"))
        self.assertEqual(given("a b/c"), b"a b/c")
        self.assertEqual(given(b"a/\xff"), b"a/\xff")
        self.assertEqual(given(os.fsdecode(b"a/\xff")), b"a/\xff")
        self.assertEqual(given(pathlib.PurePosixPath("a") / "b"), b"a/b")
        for path in ("~/own", pathlib.PurePosixPath("~/own"), Own()):
            self.assertEqual(given(path), home + b"/own")
        self.assertEqual(given("a/~"), b"a/~")
        self.assertEqual(given("photos/**/*.jpg"), b"photos/**/*.jpg")
        self.assertEqual(wick_bridge.path_count([pathlib.PurePosixPath("a"), "b"]), 2)
        self.assertEqual(wick_bridge.path_default(), "here")
        for wrong in (3, None, ["a"], "a\0b"):
            with self.assertRaises(TypeError):
                given(wrong)

    def test_urls(self):
        for url in ("s3://bucket/a", "gs://bucket/a", "az://data/a", "hf://datasets/o/n/a", "https://host/a?b"):
            self.assertEqual(wick_bridge.path_bytes(url), url.encode())
            self.assertEqual(wick_bridge.path_bytes(pathlib.PurePosixPath(url)), url.encode())

    def test_signature(self):
        self.assertIn("str | os.PathLike", wick_bridge.path_bytes.__doc__)


if __name__ == "__main__":
    unittest.main()
