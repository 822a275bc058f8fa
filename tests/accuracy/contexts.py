"""How far off the memory of a process is where the law of its context (hwdb/context.h) has not seen the source.

    python3 contexts.py PLIMSOLL

For each source of measured processes: its median error and the share inside the 95 % range as shipped, with the law's
constants refitted without the source, and as the default answers, where how modules were loaded is not told either. The
last line has all of them. `folds(plimsoll)` gives the lines of the second to other scripts.
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[2]
HWDB = ROOT / "hwdb"
PROCESS = ("nvidia_smi_mb", "device_used_mb")

# MiB of modules with cuDNN, less driver and handles, by source, and generations of tensor cores before; eagerly loaded.
EAGER = [
    ("schedtune-memory", -1, 388), ("schedtune-memory", 1, 908), ("schedtune-memory", 1, 943),
    ("schedtune-memory", 2, 1049), ("schedtune-memory", 2, 1065),
    ("gpumemnet", 2, 1273), ("h100-networks-memory", 3, 1445), ("pytorch/pytorch#55277", 0, 625),
]
# MiB without cuDNN less those with it.
PLAIN = [("gpumemnet", -292), ("h100-networks-memory", -254)]
# The same lazily loaded, after training: of an H100 and an H200, and of a T4 elsewhere.
LAZY = [("h100-networks-memory", 3, 109), ("h200-networks-memory", 3, 109), ("T4 elsewhere", 1, 55)]
# Frameworks of which one source alone knows anything.
DLINFBENCH = ("caffe", "caffe2", "detectron", "mxnet", "tensorflow-1")


def belongs(source, file):
    return file.startswith(source)


def line(points):
    """Intercept and slope of least squares; the slope is 0 where all are alike."""
    n = len(points)
    x, y = sum(p[0] for p in points) / n, sum(p[1] for p in points) / n
    spread = sum((p[0] - x) ** 2 for p in points)
    slope = sum((p[0] - x) * (p[1] - y) for p in points) / spread if spread else 0
    return y - slope * x, slope


def mib(value):
    return f"{max(0, round(value))} MiB"


def profile(name):
    return json.loads((HWDB / f"frameworks/{name}.json").read_text())


def without(file):
    """Profiles whose constants have not seen a source, by name."""
    changed = {}
    eager = [(g, m) for source, g, m in EAGER if not belongs(source, file)]
    lazy = [(g, m) for source, g, m in LAZY if not belongs(source, file)]
    if len(eager) < len(EAGER) or len(lazy) < len(LAZY):
        base, slope = line(eager)
        without_cudnn = median(m for source, m in PLAIN if not belongs(source, file))
        lazily, more = line(lazy)
        for name in ("pytorch-2", "pytorch-1.13"):
            changed[name] = profile(name)
            for row in changed[name]["context"]:
                if row.get("module_loading") == "lazy":
                    row.update(plain=mib(lazily - 18), with_cudnn=mib(lazily), inference=mib(lazily - 8), per_generation=mib(more),
                               low=mib(lazily - 28), high=mib(lazily + 62))
                else:
                    row.update(plain=mib(base + without_cudnn), with_cudnn=mib(base), inference=mib(base - 40), per_generation=mib(slope),
                               low=mib(base + without_cudnn - 200), high=mib(base + 200))
    if file.startswith("dlinfbench"):
        assumed = profile("chainer")["context"]  # what is taken of a framework that nobody measured
        for name in DLINFBENCH:
            changed[name] = profile(name) | {"context": assumed}
        changed["pytorch-1.4"] = profile("pytorch-1.4")
        changed["pytorch-1.4"]["context"] = changed["pytorch-1.4"]["context"][-1:]
    return changed


def untold(value):
    """hwdb/sources.json, or a part of it, that does not say how modules were loaded."""
    if isinstance(value, list):
        return [untold(v) for v in value]
    return {k: untold(v) for k, v in value.items() if k != "module_loading"} if isinstance(value, dict) else value


def ask(plimsoll, path, profiles=None, sources=None):
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "frameworks").mkdir()
        for name, text in (profiles or {}).items():
            (Path(folder) / f"frameworks/{name}.json").write_text(json.dumps(text))
        if sources:
            (Path(folder) / "sources.json").write_text(json.dumps(sources))
        run = subprocess.run([plimsoll, "validate", str(path), "--allow-skipped", "--json", "--hwdb", folder],
                             capture_output=True, text=True, check=False)
    records = json.loads(run.stdout)["records"]
    return [l for l in records if l["quantity"] in PROCESS and l["error"] is not None]


def files():
    return sorted(p for p in (ROOT / "tests/measured").glob("*.json") if any(f'"{q}"' in p.read_text() for q in PROCESS))


def folds(plimsoll):
    """Each process, by a law that has not seen its source."""
    return [l for path in files() for l in ask(plimsoll, path, without(path.stem))]


def figures(lines):
    if not lines:
        return f"{'-':>9}{'-':>9}"
    inside = sum(l["range"][0] <= l["measured"] <= l["range"][1] for l in lines if l["range"]) / len(lines)
    return f"{100 * median(abs(l['error']) for l in lines):8.1f}%{100 * inside:8.0f}%"


def main(plimsoll):
    silent = untold(json.loads((HWDB / "sources.json").read_text()))
    print(f"{'source':34}{'n':>5}{'as shipped':>18}{'left out':>18}{'loading untold':>18}")
    total = ([], [], [])
    for path in files():
        ways = [ask(plimsoll, path), ask(plimsoll, path, without(path.stem)), ask(plimsoll, path, without(path.stem), silent)]
        for sum_of, lines in zip(total, ways):
            sum_of.extend(lines)
        if ways[0]:
            print(f"{path.stem:34}{len(ways[0]):5}" + "".join(figures(lines) for lines in ways))
    print(f"{'all':34}{len(total[0]):5}" + "".join(figures(lines) for lines in total))


if __name__ == "__main__":
    main(sys.argv[1])
