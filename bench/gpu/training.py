"""What a training step on a GPU loses to its loader: JPEGs from the page cache through torchvision's ResNets.

    training.py FOLDER [--models resnet50,resnet18] [--batch N] [--steps N] [--lead N] [--rounds N] [--workers N]

FOLDER has a sub-folder a class. In bfloat16, channels-last; RandomResizedCrop and a flip on the CPU, levels become numbers on
the GPU. In turns: the same step on batches that lie there; on those of wick; on those of PyTorch's DataLoader with
torchvision's transforms. Needs the package wick, PyTorch, torchvision, and a GPU.
"""

import argparse
import itertools
import os
import statistics
import sys
import time

import torch


def by_wick(folder, args):
    import wick
    from wick import transforms as T

    train = wick.image_folder(
        folder, batch=args.batch, seed=1, drop_last=True, device="cuda", workers=args.workers,
        transforms=[T.RandomResizedCrop(224), T.RandomHorizontalFlip()])
    while True:
        yield from train


def by_data_loader(folder, args):
    from torch.utils.data import ConcatDataset, DataLoader
    from torchvision import datasets
    from torchvision.transforms import v2

    steps = v2.Compose([v2.RandomResizedCrop(224), v2.RandomHorizontalFlip(), v2.PILToTensor()])
    pictures = ConcatDataset([datasets.ImageFolder(folder, steps)] * 100)  # so that no epoch ends
    train = DataLoader(
        pictures, batch_size=args.batch, shuffle=True, num_workers=args.workers, pin_memory=True, drop_last=True)
    for images, labels in train:
        yield images.cuda(non_blocking=True), labels.cuda(non_blocking=True)


def busy_seconds():
    """Of all processors together."""
    with open("/proc/stat", encoding="ascii") as f:
        user, nice, system = (int(each) for each in f.readline().split()[1:4])
    return (user + nice + system) / os.sysconf("SC_CLK_TCK")


class Training:
    def __init__(self, name):
        import torchvision

        self.net = getattr(torchvision.models, name)().cuda().to(memory_format=torch.channels_last)
        self.optimizer = torch.optim.SGD(self.net.parameters(), 0.01, momentum=0.9)
        self.mean = torch.tensor([123.675, 116.28, 103.53], device="cuda").view(1, 3, 1, 1)
        self.deviation = torch.tensor([58.395, 57.12, 57.375], device="cuda").view(1, 3, 1, 1)

    def step(self, images, labels):
        x = images.to(torch.float32, memory_format=torch.channels_last).sub_(self.mean).div_(self.deviation)
        with torch.autocast("cuda", torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(self.net(x), labels)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    def run(self, batches, steps):
        """Milliseconds a step, and how many processors of the machine were busy."""
        torch.cuda.synchronize()
        begun, busy = time.perf_counter(), busy_seconds()
        for images, labels in itertools.islice(batches, steps):
            self.step(images, labels)
        torch.cuda.synchronize()
        seconds = time.perf_counter() - begun
        return 1e3 * seconds / steps, (busy_seconds() - busy) / seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--models", default="resnet50,resnet18")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--lead", type=int, default=50, help="steps before these, which are not measured")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    args = parser.parse_args()
    if not torch.cuda.is_available():
        print("training: skipped: PyTorch sees no GPU here\nRESULT gpu_training skipped=1")
        return
    sides = {"wick": by_wick(args.folder, args), "data_loader": by_data_loader(args.folder, args)}
    there = [(images, labels) for images, labels in itertools.islice(sides["wick"], 8)]
    sides = {"on_device": itertools.cycle(there), **sides}
    for name in args.models.split(","):
        training = Training(name)
        for side in sides.values():
            training.run(side, 10)  # chooses kernels
        times = {side: [] for side in sides}
        for _ in range(args.rounds):
            for side, batches in sides.items():
                training.run(batches, args.lead)  # the batches that were made while another side ran
                times[side].append(training.run(batches, args.steps))
        alone = statistics.median(ms for ms, _ in times["on_device"])
        for side, each in times.items():
            ms, cpus = (statistics.median(figures) for figures in zip(*each))
            print(f"{name}, {side}: {ms:.2f} ms a step of {args.batch}, {ms / alone:.3f} of a step on data there, "
                  f"{cpus:.1f} processors busy", flush=True)
            print(f"RESULT gpu_training model={name} side={side} step_ms={ms:.2f} ratio={ms / alone:.4f} "
                  f"pictures_per_s={1e3 * args.batch / ms:.0f} cpus={cpus:.2f}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
