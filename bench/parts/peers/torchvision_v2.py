"""PyTorch's DataLoader over torchvision.transforms.v2 with tv_tensors; torchvision.io decodes into tensors."""
import glob
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "images", "peers"))
from peer import BATCH, SIZE, Missing, serve  # noqa: E402

try:
    import torch
    import torchvision
    from torchvision import tv_tensors
    from torchvision.io import ImageReadMode, decode_image, read_file
    from torchvision.transforms import v2
except ImportError as e:
    torch = None
    reason = str(e)


def picture_of(path):
    return tv_tensors.Image(decode_image(read_file(path), ImageReadMode.RGB))


def numbers_of(path):
    """A mask as class numbers: torchvision.io gives a palette's colors, so Pillow reads it."""
    import numpy
    from PIL import Image

    with Image.open(path) as mask:
        return tv_tensors.Mask(torch.from_numpy(numpy.array(mask)))


def stages():
    """Those of torchvision's own references, in the order that it recommends."""
    return [
        v2.RandomResizedCrop(SIZE, antialias=True), v2.RandomHorizontalFlip(), v2.ColorJitter(0.2, 0.2), v2.ToImage(),
        v2.ToDtype({tv_tensors.Image: torch.float32, "others": None}, scale=True), v2.Normalize((0.5,) * 3, (0.25,) * 3)]


if torch is not None:

    class Segmentation(torch.utils.data.Dataset):
        def __init__(self, folder, picture):
            self.pictures = sorted(glob.glob(os.path.join(folder, "img", "*.jpg")))
            self.masks = sorted(glob.glob(os.path.join(folder, "mask", "*.png")))
            self.picture = picture
            self.transform = v2.Compose(stages())

        def __len__(self):
            return len(self.pictures)

        def __getitem__(self, i):
            return self.transform(self.picture(self.pictures[i]), numbers_of(self.masks[i]))

    class Detection(torch.utils.data.Dataset):
        def __init__(self, folder, picture):
            self.pictures = sorted(glob.glob(os.path.join(folder, "img", "*.jpg")))
            self.boxes, self.labels = [[] for _ in self.pictures], [[] for _ in self.pictures]
            with open(os.path.join(folder, "boxes.txt")) as f:
                for line in f:
                    words = line.split()
                    self.boxes[int(words[0])].append([float(x) for x in words[1:5]])
                    self.labels[int(words[0])].append(int(words[5]))
            self.picture = picture
            self.transform = v2.Compose(stages() + [v2.SanitizeBoundingBoxes(min_size=4)])

        def __len__(self):
            return len(self.pictures)

        def __getitem__(self, i):
            picture = self.picture(self.pictures[i])
            size = (picture.height, picture.width) if hasattr(picture, "getbands") else tuple(picture.shape[-2:])
            boxes = tv_tensors.BoundingBoxes(torch.tensor(self.boxes[i]), format="XYXY", canvas_size=size)
            return self.transform(picture, {"boxes": boxes, "labels": torch.tensor(self.labels[i])})


def lists(samples):
    return torch.stack([s[0] for s in samples]), [s[1] for s in samples]


def batches_with(picture):
    def batches(workload, folder, workers):
        if torch is None:
            raise Missing(reason)
        torch.set_num_threads(1)
        made = {"segmentation": Segmentation, "detection": Detection}[workload](folder, picture)
        loader = torch.utils.data.DataLoader(
            made, batch_size=BATCH, shuffle=True, num_workers=workers, persistent_workers=True,
            collate_fn=lists if workload == "detection" else None)
        while True:
            for pictures, _ in loader:
                yield len(pictures)

    return batches


def about(how="torchvision.io"):
    return f"torch {torch.__version__}, torchvision {torchvision.__version__}, {how}"


if __name__ == "__main__":
    serve(batches_with(picture_of if torch is not None else None), about)
