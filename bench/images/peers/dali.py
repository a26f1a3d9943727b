"""NVIDIA DALI on the CPU: decodes only the crop, antialiased resize."""
import importlib.metadata as m

from peer import BATCH, SIZE, Missing, files_of, serve

try:
    from nvidia.dali import fn, pipeline_def, types
except ImportError as e:
    fn = None
    reason = str(e)


def pipeline(workload, folder, workers, shuffle=True):
    names = files_of(folder)

    @pipeline_def(batch_size=BATCH, num_threads=workers, device_id=None, prefetch_queue_depth=2)
    def built():
        jpegs, labels = fn.readers.file(
            files=[f for f, _ in names], labels=[l for _, l in names], random_shuffle=shuffle and workload != "val",
            name="files")
        if workload in ("rrc", "large"):
            images = fn.decoders.image_random_crop(
                jpegs, device="cpu", output_type=types.RGB, random_area=[0.08, 1.0], random_aspect_ratio=[3 / 4, 4 / 3])
            images = fn.resize(images, resize_x=SIZE, resize_y=SIZE, interp_type=types.INTERP_LINEAR, antialias=True)
            images = fn.flip(images, horizontal=fn.random.coin_flip(probability=0.5))
        else:
            images = fn.decoders.image(jpegs, device="cpu", output_type=types.RGB)
            if workload == "val":
                images = fn.resize(images, resize_shorter=256, interp_type=types.INTERP_LINEAR, antialias=True)
                images = fn.crop(images, crop_h=SIZE, crop_w=SIZE, rounding="truncate")
        return images, labels

    p = built()
    p.build()
    return p


def batches(workload, folder, workers):
    if fn is None:
        raise Missing(reason)
    p = pipeline(workload, folder, workers)
    while True:
        images, _ = p.run()
        images.as_tensor() if workload != "full" else len(images)
        yield len(images)


def pictures(folder, workers):
    n = len(files_of(folder))
    p = pipeline("val", folder, workers)
    seen = 0
    while seen < n:
        images, _ = p.run()
        for picture in images.as_array()[: n - seen]:
            yield picture
        seen += len(images)


def about():
    return next(f"{d} {m.version(d)}" for d in ("nvidia-dali-cuda120", "nvidia-dali-cuda130", "nvidia-dali-cuda110") if _has(d))


def _has(name):
    try:
        return bool(m.version(name))
    except m.PackageNotFoundError:
        return False


if __name__ == "__main__":
    serve(batches, about, pictures)
