"""mlx-data: C++ threads, libjpeg-turbo, antialiased resize."""
from peer import BATCH, SIZE, Missing, files_of, serve

try:
    import mlx.data as dx
except ImportError as e:
    dx = None
    reason = str(e)


def decoded(folder):
    return dx.buffer_from_vector([{"file": f.encode(), "label": label} for f, label in files_of(folder)])


def stream_of(workload, folder, workers):
    buffer = decoded(folder)
    if workload != "val":
        buffer = buffer.shuffle()
    stream = buffer.to_stream().load_image("file", output_key="image")
    if workload in ("rrc", "large"):
        stream = (
            stream.image_random_area_crop("image", (0.08, 1.0), (3 / 4, 4 / 3))
            .image_resize("image", SIZE, SIZE)
            .image_random_h_flip("image", prob=0.5)
        )
    elif workload == "val":
        stream = stream.image_resize_smallest_side("image", 256).image_center_crop("image", SIZE, SIZE)
    return stream.batch(BATCH).prefetch(2 * workers, workers)


def batches(workload, folder, workers):
    if dx is None:
        raise Missing(reason)
    while True:
        for batch in stream_of(workload, folder, workers):
            yield len(batch["image"])


def pictures(folder, workers):
    buffer = decoded(folder).load_image("file", output_key="image")
    for sample in buffer.image_resize_smallest_side("image", 256).image_center_crop("image", SIZE, SIZE):
        yield sample["image"]


def about():
    import importlib.metadata as m

    return f"mlx-data {m.version('mlx-data')}"


if __name__ == "__main__":
    serve(batches, about, pictures)
