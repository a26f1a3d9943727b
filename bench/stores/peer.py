"""What bench/stores is compared with, in a process of its own: readers of ranges in Python.

peer.py WAY URL SAMPLES, where WAY is awscrt (AWS's client of S3, in C), obstore (object_store, in Rust), or fsspec (aiohttp).

Each asks for the same ranges of the same shards, shuffled, 64 at a time. Answers as bench/support/python_peer.hpp wants it.
"""

import asyncio
import random
import resource
import sys
import threading
import time
from urllib.parse import urlparse

WAY, URL, SAMPLES = sys.argv[1], sys.argv[2], int(sys.argv[3])
SHARDS, SIZE, STEP, AT_A_TIME = 16, 100_000, 512 + 100_352, 64


def ranges():
    out = [(f"{i % SHARDS}.tar", i // SHARDS * STEP + 512) for i in range(SAMPLES)]
    random.shuffle(out)
    return out


def by_awscrt():
    from awscrt import auth, http, io, s3

    loop = io.EventLoopGroup(0)
    bootstrap = io.ClientBootstrap(loop, io.DefaultHostResolver(loop))
    client = s3.S3Client(bootstrap=bootstrap, region="us-east-1", tls_mode=s3.S3RequestTlsMode.DISABLED, throughput_target_gbps=10)
    host = urlparse(URL)

    def run(wanted):
        slots, total, left = threading.Semaphore(AT_A_TIME), [0], threading.Semaphore(0)
        lock = threading.Lock()

        def on_body(chunk, offset, **_):
            with lock:
                total[0] += len(chunk)

        def on_done(**_):
            slots.release()
            left.release()

        kept = []
        for name, first in wanted:
            slots.acquire()
            headers = http.HttpHeaders([("host", host.netloc), ("range", f"bytes={first}-{first + SIZE - 1}")])
            kept.append(
                client.make_request(
                    type=s3.S3RequestType.DEFAULT,
                    operation_name="GetObject",
                    request=http.HttpRequest("GET", "/" + name, headers),
                    on_body=on_body,
                    on_done=on_done,
                )
            )
            if len(kept) > 4 * AT_A_TIME:
                del kept[:AT_A_TIME]
        for _ in wanted:
            left.acquire()
        return total[0]

    return run


def by_obstore():
    import obstore
    from obstore.store import HTTPStore

    store = HTTPStore.from_url(URL, client_options={"allow_http": True})

    async def all_of(wanted):
        slots, total = asyncio.Semaphore(AT_A_TIME), 0

        async def one(name, first):
            async with slots:
                return len(await obstore.get_range_async(store, name, start=first, length=SIZE))

        for size in await asyncio.gather(*(one(*w) for w in wanted)):
            total += size
        return total

    return lambda wanted: asyncio.run(all_of(wanted))


def by_fsspec():
    import fsspec

    files = fsspec.filesystem("http", skip_instance_cache=True)

    def run(wanted):
        parts = files.cat_ranges([f"{URL}/{n}" for n, _ in wanted], [f for _, f in wanted], [f + SIZE for _, f in wanted], batch_size=AT_A_TIME)
        return sum(len(p) for p in parts)

    return run


def processor():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


try:
    run = {"awscrt": by_awscrt, "obstore": by_obstore, "fsspec": by_fsspec}[WAY]()
except ImportError as missing:
    print("missing", missing, flush=True)
    sys.exit()
print("ready", WAY, flush=True)
for line in sys.stdin:
    wanted = ranges()
    wall, cpu = time.monotonic(), processor()
    got = run(wanted)
    if got != SAMPLES * SIZE:
        print("read", got, "bytes", flush=True)
        continue
    print(SAMPLES, time.monotonic() - wall, processor() - cpu, flush=True)
