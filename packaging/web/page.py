#!/usr/bin/env python3
"""page.py ENGINE.wasm VERSION OUT.html: the web page in one file, of estimator/app/web and the engine."""
import base64
import gzip
import hashlib
import pathlib
import re
import sys

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "estimator" / "app"
# In their order. A worker of the page has the first two, by their ids.
SCRIPTS = ["wasi", "engine", "lanes", "question", "marks", "roofline", "gpus", "answer", "controls", "sweep", "web"]


def script_source(script: str) -> str:
    """What a policy calls an inline script, by its text."""
    return "'sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() + "'"


def page(engine: bytes, version: str) -> str:
    scripts = {name: (FOLDER / "web" / f"{name}.js").read_text() for name in SCRIPTS}
    values = {
        "version": version,
        "style": (FOLDER / "html" / "page.css").read_text() + (FOLDER / "web" / "web.css").read_text(),
        "engine": base64.b64encode(gzip.compress(engine, 9, mtime=0)).decode(),
        "scripts allowed": " ".join(map(script_source, scripts.values())),
        "scripts": "".join(f'<script id="{name}-script">{text}</script>\n' for name, text in scripts.items()),
    }
    text = (FOLDER / "web" / "page.html").read_text()
    return re.sub(r"\{\{([a-z ]+)\}\}", lambda name: values[name[1]], text)


def main() -> None:
    engine, version, out = sys.argv[1:]
    made = page(pathlib.Path(engine).read_bytes(), version)
    pathlib.Path(out).parent.mkdir(parents=True, exist_ok=True)
    pathlib.Path(out).write_text(made)


main()
