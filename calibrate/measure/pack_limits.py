"""From limits.jsonl to a measured-run file: batches that fitted, and batches that ran out of memory.

    python3 pack_limits.py limits.jsonl ../../tests/measured
"""

import json
import pathlib
import sys

from pack_networks import NOTES, key, write

LIMITS = "calibrate/measure/limits.py: three steps at each batch; PyTorch's allocator frees its cache and tries again. "


def main():
    runs = [json.loads(line) for line in open(sys.argv[1])]
    records = [{**key(r), "module_loading": "lazy", **({"quantity": "fits"} if r["fits"] else {"result": "OOM"})}
               for r in runs]
    write(pathlib.Path(sys.argv[2]) / "h100-limits.json", "memory", "Largest batches on an H100", NOTES + LIMITS, records)


if __name__ == "__main__":
    main()
