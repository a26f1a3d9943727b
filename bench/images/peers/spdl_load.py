"""SPDL: FFmpeg decodes and resizes (bicubic), a pipeline of threads."""
import importlib.metadata as m

from peer import BATCH, SIZE, Missing, files_of, serve

try:
    import numpy as np
    import spdl.io
    from spdl.pipeline import PipelineBuilder
except ImportError as e:
    spdl = None
    reason = str(e)


def filters(workload):
    import random

    if workload == "val":
        return "scale=w='if(gt(iw,ih),-2,256)':h='if(gt(iw,ih),256,-2)':flags=bicubic,crop=224:224,format=pix_fmts=rgb24"
    if workload == "full":
        return "format=pix_fmts=rgb24"
    import math

    width, height = (500, 375) if workload == "rrc" else (2000, 1500)  # of all pictures in the set
    while True:
        area, ratio = width * height * random.uniform(0.08, 1), math.exp(random.uniform(math.log(3 / 4), math.log(4 / 3)))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if w <= width and h <= height:
            break
    x, y = random.randint(0, width - w), random.randint(0, height - h)
    flip = "hflip," if random.random() < 0.5 else ""
    return f"crop={w}:{h}:{x}:{y},scale={SIZE}:{SIZE}:flags=bicubic,{flip}format=pix_fmts=rgb24"


def batches(workload, folder, workers):
    if spdl is None:
        raise Missing(reason)
    import random

    names = [f for f, _ in files_of(folder)]
    try:
        spdl.io.demux_image(names[0])  # loads FFmpeg, which the pipeline would try for ever
    except RuntimeError as e:
        raise Missing("it finds no FFmpeg (apt-get install libavdevice59 libavfilter8)") from e

    def source():
        while True:
            random.shuffle(names)
            yield from names

    def load(name):
        return spdl.io.decode_packets(spdl.io.demux_image(name), filter_desc=filters(workload))

    def collate(frames):
        return np.asarray(spdl.io.to_numpy(spdl.io.convert_frames(frames)))

    pipeline = (
        PipelineBuilder()
        .add_source(source())
        .pipe(load, concurrency=workers)
        .aggregate(BATCH)
        .pipe(collate)
        .add_sink(2)
        .build(num_threads=workers + 1)
    )
    with pipeline.auto_stop():
        for batch in pipeline:
            yield len(batch)


def about():
    return f"spdl {m.version('spdl')}, FFmpeg, bicubic"


if __name__ == "__main__":
    serve(batches, about)
