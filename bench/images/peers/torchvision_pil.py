"""PyTorch's DataLoader over torchvision's ImageFolder: Pillow decodes, antialiased resize."""
from peer import BATCH, SIZE, Missing, files_of, serve

try:
    import torch
    import torchvision
    from PIL import Image
    from torchvision import transforms as T
except ImportError as e:
    torch = None
    reason = str(e)


if torch is not None:

    class Pictures(torch.utils.data.Dataset):
        def __init__(self, folder, transform):
            self.files, self.transform = files_of(folder), transform

        def __len__(self):
            return len(self.files)

        def __getitem__(self, i):
            path, label = self.files[i]
            with Image.open(path) as picture:
                return self.transform(picture.convert("RGB")), label


def transform_of(workload):
    steps = {
        "rrc": [T.RandomResizedCrop(SIZE), T.RandomHorizontalFlip()],
        "large": [T.RandomResizedCrop(SIZE), T.RandomHorizontalFlip()],
        "val": [T.Resize(256), T.CenterCrop(SIZE)],
        "full": [],
    }[workload]
    return T.Compose(steps + [T.PILToTensor()])


def batches(workload, folder, workers):
    if torch is None:
        raise Missing(reason)
    torch.set_num_threads(1)
    loader = torch.utils.data.DataLoader(
        Pictures(folder, transform_of(workload)), batch_size=BATCH, shuffle=workload != "val", num_workers=workers,
        persistent_workers=True)
    while True:
        for images, _ in loader:
            yield len(images)


def pictures(folder, workers):
    data = Pictures(folder, transform_of("val"))
    for i in range(len(data)):
        yield data[i][0].permute(1, 2, 0).contiguous().numpy()


def about():
    return f"torch {torch.__version__}, torchvision {torchvision.__version__}, Pillow"


if __name__ == "__main__":
    serve(batches, about, pictures)
