"""tf.data: decodes only the crop, antialiased resize."""
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

from peer import BATCH, SIZE, Missing, files_of, serve

try:
    import tensorflow as tf
except ImportError as e:
    tf = None
    reason = str(e)


def resized(picture, height, width):
    picture = tf.image.resize(picture, [height, width], antialias=True)
    return tf.cast(tf.clip_by_value(tf.round(picture), 0, 255), tf.uint8)


def train(data):
    shape = tf.image.extract_jpeg_shape(data)
    begin, size, _ = tf.image.sample_distorted_bounding_box(
        shape, tf.zeros([0, 0, 4]), area_range=(0.08, 1.0), aspect_ratio_range=(3 / 4, 4 / 3), max_attempts=10,
        use_image_if_no_bounding_boxes=True)
    window = tf.stack([begin[0], begin[1], size[0], size[1]])
    return tf.image.random_flip_left_right(resized(tf.image.decode_and_crop_jpeg(data, window, channels=3), SIZE, SIZE))


def validate(data):
    picture = tf.image.decode_jpeg(data, channels=3)
    shape = tf.shape(picture)
    short = tf.minimum(shape[0], shape[1])
    picture = resized(picture, 256 * shape[0] // short, 256 * shape[1] // short)
    shape = tf.shape(picture)
    top, left = (shape[0] - SIZE) // 2, (shape[1] - SIZE) // 2
    return picture[top : top + SIZE, left : left + SIZE]


def data_set(workload, folder, workers, repeat=True):
    names = files_of(folder)
    data = tf.data.Dataset.from_tensor_slices(([f for f, _ in names], [l for _, l in names]))
    if workload != "val":
        data = data.shuffle(len(names))
    if repeat:
        data = data.repeat()
    work = {"rrc": train, "large": train, "val": validate, "full": lambda d: tf.image.decode_jpeg(d, channels=3)}[workload]
    return data.map(lambda f, l: (work(tf.io.read_file(f)), l), num_parallel_calls=workers)


def batches(workload, folder, workers):
    if tf is None:
        raise Missing(reason)
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(workers)
    options = tf.data.Options()
    options.threading.private_threadpool_size = workers
    for images, _ in data_set(workload, folder, workers).batch(BATCH).prefetch(2).with_options(options):
        yield len(images)


def pictures(folder, workers):
    for picture, _ in data_set("val", folder, workers, repeat=False):
        yield picture.numpy()


def about():
    return f"tensorflow {tf.__version__}"


if __name__ == "__main__":
    serve(batches, about, pictures)
