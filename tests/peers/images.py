"""Decoding, resizing and cutting beside Pillow and TensorFlow, pixel for pixel: of each case the largest
difference, which may be 1 of 255 (and is 0 where Pillow's pixels are asked for).

    python images.py FLOWC PHOTOS
"""

import colorsys
import io
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import numpy
from PIL import Image

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
try:
    import tensorflow
except ImportError:
    tensorflow = None

FILTERS = {
    "nearest": Image.Resampling.NEAREST,
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
    "area": Image.Resampling.BOX,
}
SIZES = [(64, 96), (224, 224), (300, 7), (700, 900)]


def pack(path, files):
    with tarfile.open(path, "w") as tar:
        for number, (kind, content) in enumerate(files):
            member = tarfile.TarInfo(f"{number:06}.{kind}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))


def encoded(image, kind, **options):
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def pil(content, channels=3):
    return Image.open(io.BytesIO(content)).convert({1: "L", 3: "RGB", 4: "RGBA"}[channels])


def tensorflow_resize(content, size, method, antialias):
    image = numpy.asarray(pil(content))
    return tensorflow.image.resize(image, size, method=method, antialias=antialias).numpy().clip(0, 255)


def resize_short(image, side, method=Image.Resampling.BILINEAR):
    """torchvision.transforms.Resize of one number."""
    width, height = image.size
    if width <= height:
        return image.resize((side, int(side * height / width)), method)
    return image.resize((int(side * width / height), side), method)


def center_crop(image, height, width):
    """torchvision.transforms.CenterCrop."""
    top, left = round((image.height - height) / 2.0), round((image.width - width) / 2.0)
    return image.crop((left, top, left + width, top + height))


class Cases:
    def __init__(self):
        self.rows = []

    def add(self, text, files, expression, expected, limit):
        self.rows.append((text, files, expression, expected, limit))

    def run(self, flowc, folder):
        program = ""
        for number, (_, files, expression, _, _) in enumerate(self.rows):
            pack(folder / f"{number}.tar", files)
            kind = files[0][0]
            program += f'pipeline p{number} {{\n  return tar("{number}.tar") |> map(x: flatten({kind} |> {expression})) |> csv("{number}.csv")\n}}\n\n'
        (folder / "p.flow").write_text(program)
        failed = 0
        for number, (text, files, _, expected, limit) in enumerate(self.rows):
            subprocess.run([flowc, "run", "p.flow", f"p{number}"], cwd=folder, check=True)
            values = numpy.loadtxt(folder / f"{number}.csv", delimiter=",", skiprows=1, ndmin=2)
            largest = 0.0
            for row, (_, content) in zip(values, files, strict=True):
                peer = numpy.asarray(expected(content), dtype=numpy.float64).ravel()
                largest = max(largest, float(numpy.abs(row - peer).max()))
            good = largest <= limit
            failed += not good
            print(f"{text}: the largest difference is {largest:.3g} of 255{'' if good else ' FAILED'}")
        print(f"{len(self.rows) - failed} of {len(self.rows)} agree")
        return failed


def add_resizes(cases, photos):
    some = [("jpg", content) for content in photos[:4]]
    for h, w in SIZES:
        files = some if h < 300 else some[:1]
        for method, filtering in FILTERS.items():
            cases.add(f"pil {method} {h} x {w}", files, f'decode_jpeg() |> resize({h}, {w}, method = "{method}")',
                      lambda c, f=filtering, s=(w, h): pil(c).resize(s, f), 0)
            for antialias in (True, False) if tensorflow else ():
                cases.add(f"tensorflow {method} {h} x {w}, antialias {antialias}", files,
                          f'decode_jpeg() |> resize({h}, {w}, method = "{method}", antialias = {str(antialias).lower()}, like = "tensorflow")',
                          lambda c, m=method, a=antialias, s=(h, w): tensorflow_resize(c, s, m, a), 1)


def add_cuts(cases, photos):
    files = [("jpg", content) for content in photos]
    cases.add("resize_short, center_crop", files[:10], "decode_jpeg() |> resize_short(256) |> center_crop(224, 192)",
              lambda c: center_crop(resize_short(pil(c), 256), 224, 192), 0)
    large = [file for file in files if min(pil(file[1]).size) >= 130]
    cases.add("center_crop", large, "decode_jpeg() |> center_crop(61, 74)", lambda c: center_crop(pil(c), 61, 74), 0)
    for top, left in ((0, 0), (1, 1), (17, 33), (40, 7), (60, 52), (16, 16)):
        cases.add(f"crop from {top}, {left}", large[:12], f"decode_jpeg() |> crop({top}, {left}, 70, 71)",
                  lambda c, box=(left, top, left + 71, top + 70): pil(c).crop(box), 0)
    cases.add("grey, as the file has it", files[:4], "decode_jpeg(channels = 1) |> resize(60, 50)",
              lambda c: draft_grey(c).resize((50, 60), Image.Resampling.BILINEAR), 0)


def draft_grey(content):
    image = Image.open(io.BytesIO(content))
    image.draft("L", image.size)
    return image.convert("L")


def add_forms(cases, photos):
    image = pil(photos[0]).resize((37, 29))
    clear = image.convert("RGBA")
    clear.putalpha(image.convert("L"))
    palette = image.quantize(19)
    forms = {
        "cmyk": ("jpg", encoded(image.convert("CMYK"), "JPEG", quality=95)),
        "grey": ("jpg", encoded(image.convert("L"), "JPEG")),
        "progressive": ("jpg", encoded(image, "JPEG", progressive=True)),
        "4:4:4": ("jpg", encoded(image, "JPEG", subsampling=0)),
        "4:2:2": ("jpg", encoded(image, "JPEG", subsampling=1)),
        "turned by its camera's note": ("jpg", encoded(image, "JPEG", exif=b"Exif\0\0MM\0*\0\0\0\x08\0\1\1\x12\0\3\0\0\0\1\0\6\0\0\0\0\0\0")),
        "rgb": ("png", encoded(image, "PNG")),
        "grey png": ("png", encoded(image.convert("L"), "PNG")),
        "palette": ("png", encoded(palette, "PNG")),
        "palette with a transparent colour": ("png", encoded(palette, "PNG", transparency=3)),
        "two colours": ("png", encoded(image.convert("1"), "PNG")),
        "alpha": ("png", encoded(clear, "PNG")),
        "grey and alpha": ("png", encoded(clear.convert("LA"), "PNG")),
    }
    for text, file in forms.items():
        cases.add(text, [file], "decode() |> : u8[29, 37, 3]", lambda c: pil(c), 0)
    for text in ("rgb", "palette with a transparent colour", "alpha", "grey and alpha"):
        cases.add(f"{text}, four channels", [forms[text]], "decode_png(channels = 4) |> : u8[29, 37, 4]", lambda c: pil(c, 4), 0)
    for text in ("rgb", "palette", "alpha", "cmyk"):
        cases.add(f"{text} as grey", [forms[text]], "decode() |> : u8[29, 37, 1]", lambda c: pil(c).convert("L"), 0)
    sixteen = numpy.asarray(image.convert("L")).astype(numpy.uint16) * 257 - 3
    deep = encoded(Image.fromarray(sixteen), "PNG")
    cases.add("16 bits", [("png", deep)], "decode_png(channels = 1) |> : u8[29, 37, 1]", lambda c: sixteen >> 8, 0)


def as_floats(image):
    return numpy.asarray(image, dtype=numpy.float64) / 255


def turned(image, degrees):
    """Pillow turns each channel of 32-bit floats."""
    planes = [Image.fromarray(plane.astype(numpy.float32)) for plane in numpy.moveaxis(as_floats(image), -1, 0)]
    return numpy.stack([plane.rotate(degrees, Image.Resampling.BILINEAR) for plane in planes], -1)


def hue(image, turns):
    """By the standard library's colorsys."""
    def pixel(colours):
        h, s, v = colorsys.rgb_to_hsv(*colours)
        return colorsys.hsv_to_rgb((h + turns) % 1, s, v)
    return numpy.apply_along_axis(pixel, -1, as_floats(image))


def grey(image):
    return as_floats(image) @ numpy.array([0.299, 0.587, 0.114])[:, None]


def toward(origin, image, factor):
    return (origin + (as_floats(image) - origin) * factor).clip(0, 1)


def add_augmentations(cases, photos):
    """Of those that are random only the parts; tests/programs/augmentation.sh has the rest: random_flip(x),
    random_crop(x), cutout(x, 3), random_turn(x), colour_jitter(x), mixup(x, y), cutmix(x, y)."""
    small = [("png", encoded(pil(content).resize((23, 20)), "PNG")) for content in photos[:3]]
    steps = {
        "turn(x, 17)": lambda i: turned(i, 17),
        "turn(x, -100)": lambda i: turned(i, -100),
        "hue(x, 0.2)": lambda i: hue(i, 0.2),
        "hue(x, -0.45)": lambda i: hue(i, -0.45),
        "brightness(x, 1.3)": lambda i: (as_floats(i) * 1.3).clip(0, 1),
        "contrast(x, 1.7)": lambda i: toward(grey(i).mean(), i, 1.7),
        "saturation(x, 0.4)": lambda i: toward(grey(i), i, 0.4),
        "normalise(x, [0.5, 0.4, 0.3], [0.2, 0.3, 0.4])": lambda i: (as_floats(i) - [0.5, 0.4, 0.3]) / [0.2, 0.3, 0.4],
    }
    for step, peer in steps.items():
        expression = f"decode() |> : u8[20, 23, 3] |> cast(f32) |> scale(1 / 255) |> {step.replace('x, ', '')} |> scale(255)"
        cases.add(step, small, expression, lambda c, p=peer: 255 * p(pil(c)), 0.01)


def main():
    flowc, photos = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    contents = [path.read_bytes() for path in sorted(photos.iterdir()) if path.suffix.lower() in (".jpg", ".jpeg")]
    cases = Cases()
    add_forms(cases, contents)
    add_cuts(cases, contents)
    add_augmentations(cases, contents)
    add_resizes(cases, contents)
    if not tensorflow:
        print("no TensorFlow from PyPI: its resizes are not compared")
    with tempfile.TemporaryDirectory() as folder:
        sys.exit(bool(cases.run(flowc, Path(folder))))


main()
