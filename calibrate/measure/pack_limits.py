"""From limits.jsonl to a measured-run file: batches that fitted, and batches that ran out of memory.

    python3 pack_limits.py h100 limits.jsonl ../../tests/measured
"""

import json
import pathlib
import sys

from pack_networks import NOTES, key, write

LIMITS = "calibrate/measure/limits.py: three steps at each batch; PyTorch's allocator frees its cache and tries again. "


def main():
    card = sys.argv[1]
    runs = [json.loads(line) for line in open(sys.argv[2])]
    records = [{**key(card, r), "module_loading": "lazy", **({"quantity": "fits"} if r["fits"] else {"result": "OOM"})}
               for r in runs]
    write(card, pathlib.Path(sys.argv[3]) / f"{card}-limits.json", "memory", f"Largest batches on an {card.upper()}",
          NOTES + LIMITS, records)


if __name__ == "__main__":
    main()
