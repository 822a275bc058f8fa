"""Scratch memory of convolutions beside what an H100 gave out, as lines of `validate --json`: those above 1 MiB.

    python3 workspaces.py PLIMSOLL
"""
import csv
import json
import subprocess
import sys
from pathlib import Path

MEASURED = Path(__file__).resolve().parents[1] / "golden" / "workspaces" / "h100-measured.csv"
MIB = 1 << 20


def answers(plimsoll, rows, dtype):
    """One answer for each row; TF32 is the library's choice for fp32."""
    problems = "".join(
        json.dumps({k: v if k in ("pass", "layout") else int(v) for k, v in row.items() if k not in ("dtype", "workspace_bytes")}) + "\n"
        for row in rows)
    command = [plimsoll, "workspace", "--gpu", "h100-sxm-80gb", "--cudnn", "9.19", "--precision", dtype]
    done = subprocess.run(command, input=problems, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def main():
    rows = list(csv.DictReader(line for line in MEASURED.open() if not line.startswith("#")))
    records = []
    for dtype in sorted({row["dtype"] for row in rows}):
        mine = [row for row in rows if row["dtype"] == dtype]
        for row, answer in zip(mine, answers(sys.argv[1], mine, dtype), strict=True):
            measured, predicted = int(row["workspace_bytes"]), answer["workspace_bytes"]
            if measured < MIB:
                continue
            records.append({"kind": "workspace", "device": "h100-sxm-80gb", "quantity": "workspace_bytes", "measured": measured,
                            "predicted": predicted, "range": answer["range"], "error": predicted / measured - 1, "skipped": None,
                            "model": dtype})
    print(json.dumps({"records": records}))


if __name__ == "__main__":
    main()
