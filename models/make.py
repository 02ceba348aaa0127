#!/usr/bin/env python3
"""make.py TOOL NAME DATA RUN - makes the model file NAME.ssm2d of this folder and its card.

TOOL is the program ssm2d, DATA what --data takes, and RUN a finished run, whose weights
after the last epoch are stored. NAME is DATA[-swin][-int8]: with -int8 the weights are quantised.
The card is stored in the file and written beside it as NAME.md. Accuracies of other seeds are in
docs/models.md, so that a published file does not change when they become known."""
import json
import os
import subprocess
import sys
import tempfile

FOLDER = os.path.dirname(os.path.abspath(__file__))

DATA = {
    "fashion-mnist": {
        "title": "Fashion-MNIST",
        "option": "fashion-mnist",
        "file": "garment.png",
        "image": "Grey pictures of one garment, 28 x 28 pixels: bright on black, upright, filling "
                 "the frame.",
        "licence": "Fashion-MNIST is published by Zalando SE under the MIT licence\n"
                   "(https://github.com/zalandoresearch/fashion-mnist).",
        "limits": """\
- Garments of one shop's catalogue, photographed alone. A photograph of a person, or of anything
  else, gets one of the ten names as well, often with a high probability: the model cannot say that
  it is no garment.
- Garments dark on white, as most shops show them: of the first 1,000 test images inverted it gets
  {inverted:.1f} % right. This inverts a picture:
  `ssm2d data augment photo.jpg -o inverted.png --op invert`.
- Shirts, T-shirts, pullovers and coats are confused with each other; see the recalls above.
{photos}""",
    },
    "cifar10": {
        "title": "CIFAR-10",
        "option": "cifar10:DATA",
        "file": "photo.jpg",
        "image": "Colour pictures of one object, 32 x 32 pixels.",
        "licence": "CIFAR-10 (https://www.cs.toronto.edu/~kriz/cifar.html) was\ncollected from the "
                   "web by Alex Krizhevsky, Vinod Nair and Geoffrey Hinton, who ask for a\n"
                   "citation and state no licence.",
        "limits": """\
- Ten classes: airplane, automobile, bird, cat, deer, dog, frog, horse, ship, truck. Anything else
  - a landscape, a face, a room - gets one of these names as well, sometimes with a high
  probability: the model cannot say that it is none of them.
- It sees 32 x 32 pixels. The object has to fill most of the picture; crop large photographs first.
- Cats and dogs are confused most; see the recalls above.
{photos}""",
    },
}

MIXERS = {
    "vit-mini": ("the real 2-D SSM layer before every block", "--mixer ssm2d"),
    "swin-mini": ("the complex 2-D SSM layer (cartesian) with SiLU before every block",
                  "--mixer ssm2d --set mixer.values=cartesian --set mixer.activation=silu"),
}


def call(*words):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"make.py: {' '.join(map(str, words))}: {done.stderr.strip()}")
    return done.stdout


def read(run, name):
    with open(os.path.join(run, name)) as f:
        return json.load(f)


def command_of(run, option):
    """The command that trained a run, from its settings; refuses a run that is not complete."""
    settings = read(run, "train.json")
    with open(os.path.join(run, "metrics.jsonl")) as f:
        epochs = [e for e in map(json.loads, f) if "test_accuracy" in e]
    if len(epochs) != settings["epochs"]:
        sys.exit(f"make.py: {run}: has {len(epochs)} of {settings['epochs']} epochs: finish it")
    model = settings["model"]
    words = [f"ssm2d train --data {option} --model {model}", MIXERS[model][1], "--recipe quick"]
    words += [f"--set flip={str(settings['flip']).lower()}"] if settings["flip"] else []
    words += [f"--set crop_padding={settings['crop_padding']}"] if settings["crop_padding"] else []
    words += [f"--epochs {settings['epochs']} --seed {settings['seed']} --out RUN"]
    return model, " ".join(words)


def evaluate(tool, model, data):
    return json.loads(call(tool, "eval", model, "--data", data, "--per-class", "--json"))


def of_photos(tool, model):
    """What it makes of the pictures in the folder PHOTOS, which show none of its classes."""
    folder = os.environ.get("PHOTOS", "/usr/share/backgrounds/mate")
    if not os.path.isdir(folder):
        sys.exit(f"make.py: {folder}: is missing: install mate-backgrounds or set PHOTOS")
    lines = call(tool, "predict", model, folder, "--json", "--top", "1").splitlines()
    best = [json.loads(line)["classes"][0] for line in lines]
    names = [b["name"] for b in best]
    most = max(set(names), key=names.count)
    sure = 100 * max(b["probability"] for b in best)
    return (f"- Of {len(best)} desktop backgrounds (Debian's mate-backgrounds: landscapes, "
            f"flowers,\n  textures) it calls {names.count(most)} {most}, and is up to {sure:.0f} % "
            "sure of a class that is not there.")


def first_images(data, folder, count, flip=0):
    """Copies the first test images of a data set to a folder, as `--data` reads it. flip: 255
    inverts those of Fashion-MNIST."""
    import gzip
    name, _, source = data.partition(":")
    if name == "cifar10":
        with open(os.path.join(source, "test_batch.bin"), "rb") as f:
            parts = {"test_batch.bin": f.read(3073 * count)}
        with open(os.path.join(source, "batches.meta.txt"), "rb") as f:
            parts["batches.meta.txt"] = f.read()
        for i in range(1, 6):
            parts[f"data_batch_{i}.bin"] = parts["test_batch.bin"]
    else:
        parts = {}
        for kind, head, size in ("images-idx3", 16, 784), ("labels-idx1", 8, 1):
            path = os.path.join(source or "/usr/share/datasets/fashion-mnist", f"t10k-{kind}-ubyte")
            with (open(path, "rb") if os.path.exists(path) else gzip.open(path + ".gz")) as f:
                content = f.read(head + size * count)
            pixels = content[head:] if size == 1 else bytes(b ^ flip for b in content[head:])
            content = content[:4] + count.to_bytes(4, "big") + content[8:head] + pixels
            for split in "t10k", "train":
                parts[f"{split}-{kind}-ubyte"] = content
    for file, content in parts.items():
        with open(os.path.join(folder, file), "wb") as f:
            f.write(content)
    return f"{name}:{folder}"


def main():
    tool, name, data, run = sys.argv[1:]
    about = next(value for key, value in DATA.items() if name.startswith(key))
    kind = "int8" if name.endswith("-int8") else "bf16"
    path = os.path.join(FOLDER, name + ".ssm2d")
    model, command = command_of(run, about["option"])
    options = ["--data", data] if kind == "int8" else []  # images that it is calibrated on
    inputs = " and their inputs" if kind == "int8" else ""
    calibrate = f" --data {about['option']}" if options else ""
    with tempfile.TemporaryDirectory() as work:
        draft, plain = os.path.join(work, "draft.ssm2d"), os.path.join(work, "float32.ssm2d")
        call(tool, "quantize", run, "--type", kind, "-o", draft, *options)
        call(tool, "quantize", run, "--type", "float32", "-o", plain)
        whole = evaluate(tool, draft, data)
        before = evaluate(tool, plain, data)
        some = evaluate(tool, draft, first_images(data, work, 1000))
        inverted = 0
        if "inverted" in about["limits"]:
            inverted = 100 * evaluate(tool, draft, first_images(data, work, 1000, 255))["accuracy"]
        limits = about["limits"].format(inverted=inverted, photos=of_photos(tool, draft))
        info = json.loads(call("env", f"SSM2D_MODELS={work}", tool, "zoo", "--json"))
        info = next(m for m in info if m["name"] == "draft")
        machine = read(run, "machines.json")[-1]
        recalls = "".join(f"| {c['name']} | {100 * c['recall']:.1f} % |\n"
                          for c in whole["classes"])
        card = f"""\
# {name}

{about['image']}
{model} with {MIXERS[model][0]}.

- data: {about['title']}
- accuracy: {100 * whole['accuracy']:.2f} %
- images: {whole['images']:,} test images, which also measured every epoch of the training
- first 1000: {round(1000 * some['accuracy'])} right
- float32: {100 * before['accuracy']:.2f} %
- seed: {read(run, 'train.json')['seed']}; docs/models.md has other seeds
- type: {info['type']}, the weights of linear layers{inputs}; everything else is float32
- parameters: {info['parameters']:,}

## Use

    ssm2d predict zoo:{name} {about['file']}

## Training

    {command}
    ssm2d quantize RUN --type {kind} -o {name}.ssm2d{calibrate}

The weights are those after the last epoch. Trained with ssm2d {machine['ssm2d']} on one thread of
{machine['processor']}, {machine['instruction_set']}. `models/make.py` makes the file and this card.

## Recall of each class

| class | recall |
|---|---|
{recalls}
## What it is not good for

{limits}

## Licence

The weights: MIT, as ssm2d. {about['licence']}
"""
        text = os.path.join(work, "card.md")
        with open(text, "w") as f:
            f.write(card)
        call(tool, "quantize", run, "--type", kind, "-o", path, "--card", text, "--force",
             *options)
        with open(os.path.join(FOLDER, name + ".md"), "w") as f:
            f.write(card)
    print(f"{path}: {os.path.getsize(path)} bytes, {100 * whole['accuracy']:.2f} %")


if __name__ == "__main__":
    main()
