"""Chunks of tokens as nanoGPT reads them, for bench/text: prints tokens a second by a DataLoader over np.memmap, by get_batch(), and
the sum of all tokens that an epoch of the former gave.

memmap.py FILE LENGTH BATCH WORKERS
"""

import sys
import time

import numpy as np
import torch


class Chunks(torch.utils.data.Dataset):
    def __init__(self, path, length):
        self.path, self.length = path, length
        self.tokens = np.memmap(path, dtype=np.uint16, mode="r")

    def __len__(self):
        return (len(self.tokens) - 1) // self.length

    def __getitem__(self, i):
        some = torch.from_numpy(self.tokens[i * self.length : (i + 1) * self.length + 1].astype(np.int64))
        return some[:-1], some[1:]


def get_batch(path, length, batch):
    tokens = np.memmap(path, dtype=np.uint16, mode="r")
    ix = torch.randint(len(tokens) - length, (batch,))
    x = torch.stack([torch.from_numpy(tokens[i : i + length].astype(np.int64)) for i in ix])
    y = torch.stack([torch.from_numpy(tokens[i + 1 : i + 1 + length].astype(np.int64)) for i in ix])
    return x, y


def main():
    path, length, batch, workers = sys.argv[1], *map(int, sys.argv[2:5])
    torch.set_num_threads(1)
    chunks = Chunks(path, length)
    loader = torch.utils.data.DataLoader(chunks, batch, shuffle=True, num_workers=workers, persistent_workers=workers > 0)
    total = sum(int(x.sum()) + int(y.sum()) for x, y in loader)  # starts the workers, too
    seconds = []
    for _ in range(3):
        begun, n = time.perf_counter(), 0
        for x, _y in loader:
            n += x.numel()
        seconds.append((time.perf_counter() - begun) / n)
    batches, begun = len(chunks) // batch, time.perf_counter()
    for _ in range(batches):
        get_batch(path, length, batch)
    alone = (time.perf_counter() - begun) / (batches * batch * length)
    print(1 / sorted(seconds)[1], 1 / alone, total)


main()
