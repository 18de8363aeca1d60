"""Draws the picture and the clip of the presets, so that no photograph of anybody is needed.

python tools/draw_presets.py            writes presets/market-stall.png and presets/scene-cut.mp4
"""

import argparse
from pathlib import Path

import av
from PIL import Image, ImageDraw

FOLDER = Path(__file__).parent.parent / "presets"
FPS = 12
SECONDS = 4
CUT_SECOND = 2.5  # not in the middle, so that a frame before and after it are both sampled
CLIP_SIZE = (320, 192)


def draw_stall() -> Image.Image:
    """A market stall on a sunny day: fruit, a knife on the board, a price sign, one person."""
    image = Image.new("RGB", (640, 480), "#bfe3ff")
    draw = ImageDraw.Draw(image)
    draw.ellipse((540, 30, 610, 100), fill="#ffd43b")
    draw.rectangle((0, 340, 640, 480), fill="#d8c7a3")
    for stripe in range(8):  # the awning
        draw.rectangle((80 + 60 * stripe, 110, 140 + 60 * stripe, 165), fill="#d9480f" if stripe % 2 else "#fff4e6")
    draw.rectangle((88, 165, 98, 400), fill="#6b4f2a")
    draw.rectangle((542, 165, 552, 400), fill="#6b4f2a")
    draw.ellipse((250, 190, 300, 240), fill="#f1c9a5")  # the person behind the stall
    draw.rectangle((238, 240, 312, 330), fill="#1971c2")
    draw.rectangle((80, 330, 560, 420), fill="#8d6b3f")
    for place in range(7):
        x = 100 + 34 * place
        draw.ellipse((x, 300, x + 32, 332), fill="#e03131" if place % 2 else "#f08c00")
    draw.rectangle((360, 318, 470, 330), fill="#c9a36a")  # the board
    draw.polygon([(372, 316), (436, 306), (440, 314), (374, 319)], fill="#ced4da")  # the knife
    draw.rectangle((438, 306, 462, 316), fill="#343a40")
    draw.rectangle((484, 290, 540, 330), fill="#ffffff", outline="#343a40", width=2)
    draw.line((494, 304, 530, 304), fill="#343a40", width=3)
    draw.line((494, 316, 520, 316), fill="#343a40", width=3)
    return image


def draw_frame(second: float) -> Image.Image:
    """One frame: a boat crosses the sea until the cut, then a ball falls in a red room."""
    width, height = CLIP_SIZE
    image = Image.new("RGB", CLIP_SIZE, "#a5d8ff")
    draw = ImageDraw.Draw(image)
    if second < CUT_SECOND:
        draw.rectangle((0, 110, width, height), fill="#1864ab")
        x = 20 + 90 * second
        draw.polygon([(x, 105), (x + 70, 105), (x + 55, 125), (x + 15, 125)], fill="#5c3d1e")
        draw.polygon([(x + 34, 40), (x + 34, 102), (x + 66, 102)], fill="#ffffff")
    else:
        draw.rectangle((0, 0, width, height), fill="#a61e1e")
        draw.rectangle((0, 150, width, height), fill="#5f3b2b")
        y = 10 + 80 * (second - CUT_SECOND)
        draw.ellipse((140, y, 180, y + 40), fill="#ffe066")
    return image


def write_clip(path: Path) -> None:
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=FPS)
        stream.width, stream.height = CLIP_SIZE
        stream.pix_fmt = "yuv420p"
        stream.options = {"crf": "26", "preset": "slow"}
        for index in range(FPS * SECONDS):
            frame = av.VideoFrame.from_image(draw_frame(index / FPS))
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    draw_stall().save(FOLDER / "market-stall.png", optimize=True)
    write_clip(FOLDER / "scene-cut.mp4")
    for name in ("market-stall.png", "scene-cut.mp4"):
        print(f"presets/{name}: {(FOLDER / name).stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
