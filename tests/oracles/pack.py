"""Packs exported models and golden files into tests/golden, with the same bytes every time.

    python pack.py EXPORTS GOLDENS

EXPORTS is export_models.py's folder, GOLDENS the one of memory_oracle.py --out. Exports that failed are listed in
onnx/failed.json. Shapes that an exporter noted (value_info) are dropped: an importer has to infer them.
"""
import gzip
import io
import json
import re
import sys
import tarfile
from pathlib import Path

import onnx

from strip_onnx import strip

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
COLOURS = re.compile(r"\x1b\[\d*m")   # of the exporter's messages
ARCHIVES = ("ops", "ops-fixed")   # a file for each of hundreds of operators: one archive each
FORMS = ("train-ts", "train-dy", "eval-ts", "ops", "ops-fixed", "families")


def write(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_bytes() != data:
        path.write_bytes(data)
    return len(data)


def packed(data):
    return gzip.compress(data, 9, mtime=0)


def archive(files):
    """A tar of {name: bytes} that depends on nothing else."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, data in sorted(files.items()):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return out.getvalue()


def main():
    exports, goldens = map(Path, sys.argv[1:])
    sizes, failed = {}, {}
    for form in FORMS:
        files = {}
        for path in sorted((exports / form).glob("*.onnx")):
            model = strip(onnx.load(path, load_external_data=False), value_info=False)
            files[f"{path.name}.gz"] = packed(model.SerializeToString(deterministic=True))
        if form in ARCHIVES:
            sizes[form] = write(GOLDEN / "onnx" / f"{form}.tar", archive(files))
        else:
            sizes[form] = sum(write(GOLDEN / "onnx" / form / name, data) for name, data in files.items())
        for path in sorted((exports / form).glob("*.failed")):
            failed.setdefault(form, {})[path.stem] = " ".join(COLOURS.sub("", path.read_text()).split())[:300]
    for path in sorted(goldens.glob("*.json")):
        sizes["memory"] = sizes.get("memory", 0) + write(GOLDEN / "memory" / path.name, path.read_bytes())
    for path in sorted((goldens / "traces").glob("*.json")):
        sizes["traces"] = sizes.get("traces", 0) + write(GOLDEN / "traces" / f"{path.name}.gz", packed(path.read_bytes()))
    write(GOLDEN / "onnx/failed.json", (json.dumps(failed, indent=1) + "\n").encode())
    print(sizes, {form: len(names) for form, names in failed.items()})


if __name__ == "__main__":
    main()
