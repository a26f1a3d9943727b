"""What bench/parquet is compared with, in a process of its own: pyarrow, and a map-style dataset over it.

peer.py WAY FILE WORKERS, where WAY is make (writes the file), whole (row groups in order into NumPy, a thread a worker), rows
(shuffled rows, as a DataLoader takes them: each row by its index, its row group from a cache of 8; the order by windows of as
many, so that the cache has it), loader (the same through PyTorch's DataLoader with WORKERS processes, in the same order), or random
(the same in a random order of all rows, as shuffle=True has it).

Answers as bench/support/python_peer.hpp wants it: "ready", then a line for "run COUNT" (samples, seconds, processor seconds)
and for "sum" (what the samples add up to, the labels and the first and last number of each embedding).
"""

import random
import resource
import sys
import time

try:
    import numpy
    import pyarrow
    import pyarrow.parquet
except ImportError as missing:
    print("missing", missing, flush=True)
    sys.exit()

ROWS, GROUP, WIDTH, BATCH, WINDOW = 480_000, 8_000, 256, 256, 8


def make(file):
    generator = numpy.random.default_rng(1)
    writer = None
    for first in range(0, ROWS, GROUP):
        columns = {"embedding": pyarrow.FixedSizeListArray.from_arrays(generator.standard_normal(GROUP * WIDTH, dtype="float32"), WIDTH)}
        columns["embedding"] = columns["embedding"].cast(pyarrow.list_(pyarrow.float32()))
        columns["label"] = pyarrow.array(generator.integers(0, 1000, GROUP))
        for i in range(18):
            columns[f"other{i}"] = pyarrow.array(generator.standard_normal(GROUP))
        table = pyarrow.table(columns)
        writer = writer or pyarrow.parquet.ParquetWriter(file, table.schema, use_dictionary=["label"])
        writer.write_table(table, row_group_size=GROUP)
    writer.close()


def as_numpy(table):
    """Both columns of a row group, [rows, 256] and [rows], without a copy."""
    embedding = table.column("embedding").combine_chunks()
    return embedding.flatten().to_numpy().reshape(-1, WIDTH), table.column("label").to_numpy()


class Whole:
    def __init__(self, file, workers):
        pyarrow.set_cpu_count(workers)
        pyarrow.set_io_thread_count(workers)
        self.file = pyarrow.parquet.ParquetFile(file)

    def batches(self):
        for group in range(self.file.num_row_groups):
            yield as_numpy(self.file.read_row_group(group, columns=["embedding", "label"], use_threads=True))


class Rows:
    """A dataset with __getitem__, whose groups are shuffled by windows so that its cache is of use."""

    def __init__(self, file, workers):
        self.file = pyarrow.parquet.ParquetFile(file)
        self.cache = {}
        self.epoch = 0

    def __getitem__(self, index):
        group, row = divmod(index, GROUP)
        if group not in self.cache:
            while len(self.cache) >= WINDOW:
                del self.cache[next(iter(self.cache))]
            self.cache[group] = as_numpy(self.file.read_row_group(group, columns=["embedding", "label"]))
        embedding, label = self.cache[group]
        return embedding[row], label[row]

    def __len__(self):
        return ROWS

    def windows(self):
        shuffle = random.Random(self.epoch).shuffle
        self.epoch += 1
        groups = list(range(ROWS // GROUP))
        shuffle(groups)
        for first in range(0, len(groups), WINDOW):
            order = [g * GROUP + r for g in groups[first : first + WINDOW] for r in range(GROUP)]
            shuffle(order)
            yield order

    def batches(self):
        for order in self.windows():
            for at in range(0, len(order), BATCH):
                samples = [self[i] for i in order[at : at + BATCH]]
                yield numpy.stack([e for e, _ in samples]), numpy.array([l for _, l in samples])


class Loader:
    """The same dataset through a DataLoader: a process a worker, its collate function, persistent workers."""

    def __init__(self, file, workers):
        from torch.utils.data import DataLoader

        self.rows = Rows(file, workers)
        order = type("Order", (), {"__iter__": lambda _: (i for w in self.rows.windows() for i in w), "__len__": lambda _: ROWS})
        self.loader = DataLoader(self.rows, batch_size=BATCH, sampler=order(), num_workers=workers, persistent_workers=True)

    def batches(self):
        for embedding, label in self.loader:
            yield embedding.numpy(), label.numpy()


class Random(Rows):
    """The same as most programs have it: any row next, so that the cache seldom has its group."""

    def batches(self):
        generator = random.Random(self.epoch)
        self.epoch += 1
        for _ in range(0, ROWS, 16):
            samples = [self[generator.randrange(ROWS)] for _ in range(16)]
            yield numpy.stack([e for e, _ in samples]), numpy.array([l for _, l in samples])


def main():
    way, file, workers = sys.argv[1], sys.argv[2], int(sys.argv[3])
    if way == "make":
        make(file)
        print("ready", flush=True)
        return
    try:
        dataset = {"whole": Whole, "rows": Rows, "loader": Loader, "random": Random}[way](file, workers)
    except ImportError as missing:
        print("missing", missing, flush=True)
        return
    print("ready pyarrow", pyarrow.__version__, flush=True)
    for line in sys.stdin:
        if line.startswith("sum"):
            total = sum(float(l.sum()) + float(e[:, 0].sum(dtype="float64") + e[:, -1].sum(dtype="float64")) for e, l in dataset.batches())
            print(repr(total), flush=True)
            continue
        count, done = int(line.split()[1]), 0
        before, start = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
        while done < count:
            for embedding, _ in dataset.batches():
                done += len(embedding)
                if done >= count:
                    break
        wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF)
        print(done, wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, flush=True)


main()
