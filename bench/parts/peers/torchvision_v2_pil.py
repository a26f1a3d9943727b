"""PyTorch's DataLoader over torchvision.transforms.v2 with tv_tensors; Pillow decodes, and crops and resizes pictures."""
from torchvision_v2 import about, batches_with, serve


def picture_of(path):
    from PIL import Image

    with Image.open(path) as picture:
        return picture.convert("RGB")


if __name__ == "__main__":
    serve(batches_with(picture_of), lambda: about("Pillow"))
