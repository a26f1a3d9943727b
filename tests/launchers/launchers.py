#!/usr/bin/env python3
"""Real launchers: the shares of their ranks, put together, are the batches of a single process.

  launchers.py --program BUILD/tests/launchers/wick_shares [--python VENV/bin/python] [--only TEXT]

The program is tests/launchers/shares.cpp. The Python has wick, torch, lightning, and ray[train]. What isn't installed is
skipped, and named. Slurm runs on this machine with a configuration of its own, and ends with this script.
"""

import argparse
import contextlib
import hashlib
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


@contextlib.contextmanager
def slurm(folder):
    """A cluster of one node, this machine; gives the environment for srun, or None where Slurm isn't installed."""
    programs = [shutil.which(p, path="/usr/sbin:/usr/bin:/sbin:/bin") for p in ("munged", "slurmctld", "slurmd", "srun")]
    if None in programs or os.geteuid() != 0:
        yield None
        return
    munged, slurmctld, slurmd, _ = programs
    folder = pathlib.Path(folder)
    for name in ("state", "spool", "munge"):
        (folder / name).mkdir()
    os.chmod(folder, 0o755)  # munged wants its socket where all can reach it
    os.chmod(folder / "munge", 0o755)
    key = folder / "key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    host = socket.gethostname().split(".")[0]
    conf = folder / "slurm.conf"
    conf.write_text(f"""ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={free_port()}
SlurmdPort={free_port()}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4
SlurmdParameters=config_overrides
""")
    environment = {**os.environ, "SLURM_CONF": str(conf)}
    with open(folder / "log", "w", encoding="utf-8") as log:
        daemons = [
            subprocess.Popen(command, env=environment, stdout=log, stderr=log)
            for command in (
                [munged, "-F", "-f", "-S", f"{folder}/munge/socket", f"--key-file={key}", f"--pid-file={folder}/munged.pid",
                 f"--log-file={folder}/munged.log", f"--seed-file={folder}/munged.seed"],
                [slurmctld, "-D", "-i"],
                [slurmd, "-D", "-N", host],
            )
        ]
        try:
            for _ in range(60):
                if subprocess.run(["srun", "-n", "1", "true"], env=environment, capture_output=True, timeout=60, check=False).returncode == 0:
                    break
                time.sleep(0.5)
            else:
                print((folder / "log").read_text(encoding="utf-8")[-3000:])
                raise RuntimeError("Slurm doesn't start")
            yield environment
        finally:
            for d in reversed(daemons):
                d.terminate()
            for d in daemons:
                d.wait()


def batches(folder):
    """The global batches, of all ranks' files."""
    files = sorted(folder.glob("*-of-*.txt"), key=lambda f: int(f.name.split("-")[0]))
    world = {f.stem.split("-of-")[1] for f in files}
    if len(world) != 1 or len(files) != int(next(iter(world))):
        raise RuntimeError(f"{len(files)} ranks wrote, and they say that they are {', '.join(sorted(world)) or 'none'}")
    lines = [f.read_text(encoding="utf-8").splitlines() for f in files]
    return len(files), ["".join(parts).strip() for parts in zip(*lines, strict=True)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--python")
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    program = os.path.abspath(args.program)
    tools = pathlib.Path(args.python).parent if args.python else None
    torchrun = shutil.which(str(tools / "torchrun")) if tools else None
    mpirun = shutil.which("mpirun")
    mpi = [mpirun, "--allow-run-as-root", "--oversubscribe", "-n", "3"] if mpirun else None
    script = [args.python, str(HERE / "shares.py")] if args.python else None

    def has(*modules):
        return script and subprocess.run([args.python, "-c", "import " + ", ".join(modules)], capture_output=True, check=False).returncode == 0

    clean = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM_", "OMPI_", "PMI"))}
    with tempfile.TemporaryDirectory() as root:
        with slurm(tempfile.mkdtemp(dir=root)) as cluster:
            alone = ["torchrun", "--standalone", "--nproc-per-node", "3"]
            alone[0] = torchrun
            rows = [
                ("C++, one process", [program], clean),
                ("C++, torchrun", torchrun and [*alone, "--no-python", program], clean),
                ("C++, mpirun", mpi and [*mpi, program], clean),
                ("C++, srun", cluster and ["srun", "-n", "3", "--overcommit", program], cluster),
                ("C++, torchrun in srun", cluster and torchrun and ["srun", "-n", "1", *alone, "--no-python", program], cluster),
                ("C++, mpirun in a step of srun", cluster and mpi and ["srun", "-n", "1", "--mpi=none", *mpi, program], cluster),
                ("Python, one process", script and [*script, "plain"], clean),
                ("Python, torchrun", torchrun and [*alone, script[1], "plain"], clean),
                ("Python, torch.distributed alone", torchrun and [*alone, script[1], "process_group"], clean),
                ("Python, mpirun", script and mpi and [*mpi, *script, "plain"], clean),
                ("Python, srun", script and cluster and ["srun", "-n", "3", "--overcommit", *script, "plain"], cluster),
                ("Python, Lightning", has("lightning") and [*script, "lightning"], clean),
                ("Python, Ray Train", has("ray.train.torch") and [*script, "ray"], clean),
            ]
            single, bad = None, 0
            for name, command, environment in rows:
                if args.only not in name and single is not None:
                    continue
                if not command:
                    print(f"{name:32} skipped: not installed", flush=True)
                    continue
                folder = pathlib.Path(tempfile.mkdtemp(dir=root))
                begun = time.monotonic()
                run = subprocess.run([*command, str(folder)], env=environment, capture_output=True, text=True, timeout=300, check=False)
                try:
                    if run.returncode != 0:
                        raise RuntimeError(f"exit code {run.returncode}\n{run.stdout[-2000:]}{run.stderr[-3000:]}")
                    ranks, all_batches = batches(folder)
                except (RuntimeError, ValueError) as error:
                    print(f"{name:32} {error}", flush=True)
                    bad += 1
                    continue
                single = single or all_batches
                same = all_batches == single
                bad += not same
                digest = hashlib.sha256("\n".join(all_batches).encode()).hexdigest()
                print(f"{name:32} {ranks} ranks, {len(all_batches)} batches, SHA-256 {digest[:16]}… "
                      f"{'the same' if same else 'OTHERS'}, {time.monotonic() - begun:.1f} s", flush=True)
    print(f"launchers: {bad} with other batches")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
