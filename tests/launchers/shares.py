"""The batches of two epochs that this rank gets, a line each, into FOLDER/RANK-of-WORLD.txt: shares.py HOW FOLDER

HOW: plain (whatever has started this process), process_group (behind init_process_group()), lightning (which starts a
second process of this script), or ray (which starts two).
"""

import os
import sys

import numpy as np
import wick


def loader(**options):
    numbers = np.arange(1000)
    return wick.tensors(numbers, numbers, batch=24, seed=5, workers=1, tensors="numpy", **options)


def write(folder, rank, world, batches):
    with open(os.path.join(folder, f"{rank}-of-{world}.txt"), "w", encoding="utf-8") as to:
        to.writelines(" ".join(str(v) for v in data.tolist()) + " \n" for data in batches)


def epochs(of):
    return [data for _ in range(2) for data, _ in of]


def plain(folder):
    batches = epochs(loader())
    variables = [("RANK", "WORLD_SIZE"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS")]
    rank, world = next(((os.environ[r], os.environ[w]) for r, w in variables if r in os.environ and w in os.environ), (0, 1))
    write(folder, rank, world, batches)


def process_group(folder):
    import torch.distributed

    torch.distributed.init_process_group("gloo")
    rank, world = torch.distributed.get_rank(), torch.distributed.get_world_size()
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"):  # by the group alone
        os.environ.pop(name, None)
    write(folder, rank, world, epochs(loader()))
    torch.distributed.destroy_process_group()


def lightning(folder):
    import lightning
    import torch

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer, self.seen = torch.nn.Linear(1, 1), []

        def training_step(self, batch, number):
            self.seen.append(batch[0].numpy())
            return self.layer(batch[0].float()[:, None]).mean()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.1)

        def train_dataloader(self):
            numbers = torch.arange(1000)
            return wick.tensors(numbers, numbers, batch=24, seed=5, workers=1)

    model = Model()
    trainer = lightning.Trainer(accelerator="cpu", devices=2, strategy="ddp", max_epochs=2, logger=False, enable_checkpointing=False,
                                enable_progress_bar=False, enable_model_summary=False, default_root_dir=folder)
    trainer.fit(model)
    write(folder, trainer.global_rank, trainer.world_size, model.seen)


def of_ray_worker(config):
    import ray.train

    context = ray.train.get_context()
    write(config["folder"], context.get_world_rank(), context.get_world_size(), epochs(loader()))


def ray(folder):
    import ray
    import ray.train.torch

    ray.init(num_cpus=4, include_dashboard=False, runtime_env={"env_vars": {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}})
    config = ray.train.ScalingConfig(num_workers=2, use_gpu=False, resources_per_worker={"CPU": 1})
    run = ray.train.RunConfig(storage_path=os.path.join(folder, "ray"))
    ray.train.torch.TorchTrainer(of_ray_worker, train_loop_config={"folder": folder}, scaling_config=config, run_config=run).fit()


if __name__ == "__main__":
    {"plain": plain, "process_group": process_group, "lightning": lightning, "ray": ray}[sys.argv[1]](os.path.abspath(sys.argv[2]))
