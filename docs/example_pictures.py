"""The picture of each notebook in ``docs/images``: ``python docs/example_pictures.py [NAME ...]`` runs the notebooks.

A picture is drawn anew by its notebook, made narrower and kept with few colours or shades, so that it stays small.
"""

from __future__ import annotations

import base64
import io
import sys
from pathlib import Path

from example_pages import executed
from PIL import Image

ROOT = Path(__file__).parent.parent
CHOSEN = {
    "1_inspect_first": 0,
    "2_programs_by_hand": 0,
    "3_ties": 0,
    "4_why_proxies_fail": 0,
    "5_score_fusion": 0,
    "6_a_proof": 0,
    "7_first_stages_compared": 0,
    "8_recommendations": 0,
    "9_a_card": 0,
}
"""Which of a notebook's pictures is shown."""

WIDTH = 620
FEW, MANY = (32, Image.Quantize.MAXCOVERAGE), (256, Image.Quantize.MEDIANCUT)
SHADED = {"6_a_proof", "7_first_stages_compared"}
"""Pictures with pale areas, which would get the tints of others with few colours."""


def draw(name: str) -> None:
    """Run a notebook and keep its picture."""
    notebook = executed(ROOT / "examples" / f"{name}.ipynb")
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    pictures = [output.data["image/png"] for output in outputs if "image/png" in output.get("data", {})]
    picture = Image.open(io.BytesIO(base64.b64decode(pictures[CHOSEN[name]]))).convert("RGB")
    if picture.width > WIDTH:
        picture = picture.resize((WIDTH, round(picture.height * WIDTH / picture.width)), Image.Resampling.LANCZOS)
    target = ROOT / "docs" / "images" / f"example_{name}.png"
    picture.quantize(*(MANY if name in SHADED else FEW)).save(target, optimize=True)
    print(f"{target.name}: {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    for chosen in sys.argv[1:] or CHOSEN:
        draw(chosen)
