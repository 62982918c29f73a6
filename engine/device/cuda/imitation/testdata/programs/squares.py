"""Ultralytics' own command, on a few pictures of noise that this makes: `squares.py detect train ...`."""

import os
import sys
import tempfile

import numpy
from PIL import Image
from ultralytics.cfg import entrypoint

random = numpy.random.default_rng(0)
with tempfile.TemporaryDirectory() as folder:
    for part, pictures in (("train", 8), ("val", 4)):
        for kind in ("images", "labels"):
            os.makedirs(os.path.join(folder, kind, part))
        for n in range(pictures):
            Image.fromarray(random.integers(0, 255, (240, 320, 3), numpy.uint8)).save(f"{folder}/images/{part}/{n}.jpg")
            with open(f"{folder}/labels/{part}/{n}.txt", "w", encoding="utf-8") as file:
                for k in range(n % 4 + 1):
                    print(
                        k % 3, *random.uniform(0.3, 0.6, 2).round(3), *random.uniform(0.1, 0.3, 2).round(3), file=file
                    )
    data = os.path.join(folder, "data.yaml")
    with open(data, "w", encoding="utf-8") as file:
        file.write(f"path: {folder}\ntrain: images/train\nval: images/val\nnames: [a, b, c]\n")
    sys.argv += [f"data={data}", f"project={folder}", "model=yolo11n.yaml", "imgsz=160", "batch=4", "workers=0"]
    entrypoint()
