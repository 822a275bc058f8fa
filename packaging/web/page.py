#!/usr/bin/env python3
"""page.py ENGINE.wasm VERSION OUT.html: the web page in one file, of estimator/app/web and the engine."""
import base64
import gzip
import hashlib
import pathlib
import re
import sys

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "estimator" / "app"
SCRIPTS = ["wasi.js", "engine.js", "question.js", "answer.js", "web.js"]


def script_source(script: str) -> str:
    """What a policy calls an inline script, by its text."""
    return "'sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() + "'"


def page(engine: bytes, version: str) -> str:
    scripts = [(FOLDER / "web" / name).read_text() for name in SCRIPTS]
    values = {
        "version": version,
        "style": (FOLDER / "html" / "page.css").read_text() + (FOLDER / "web" / "web.css").read_text(),
        "engine": base64.b64encode(gzip.compress(engine, 9, mtime=0)).decode(),
        "scripts allowed": " ".join(script_source(script) for script in scripts),
        "scripts": "".join(f"<script>{script}</script>\n" for script in scripts),
    }
    text = (FOLDER / "web" / "page.html").read_text()
    return re.sub(r"\{\{([a-z ]+)\}\}", lambda name: values[name[1]], text)


def main() -> None:
    engine, version, out = sys.argv[1:]
    made = page(pathlib.Path(engine).read_bytes(), version)
    pathlib.Path(out).parent.mkdir(parents=True, exist_ok=True)
    pathlib.Path(out).write_text(made)


main()
