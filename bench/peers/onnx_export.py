"""Writes the vision transformers of torch_vit.py as ONNX files, in each form that ONNX Runtime can
be given, with random weights that the tool can read as well.

A form says how each part of a model is written:

    attention  plain     matrix products and Softmax, as PyTorch exports them
               fused     com.microsoft.Attention, which has the product for q, k and v in it
               heads     com.microsoft.MultiHeadAttention after one product for q, k and v
               separate  the same after three products
    gelu       plain     by Erf, which ONNX Runtime may fuse
               fused     com.microsoft.BiasGelu
    skip       plain     Add, then LayerNormalization
               fused     com.microsoft.SkipLayerNormalization
    patches    product   a matrix product of flattened patches
               conv      a convolution with stride
    last       whole     the last block works on all tokens, as models are published
               cls       its second half works on CLS only, the only token that is read after it,
                         as this library does

All compute the same function: GELU is exact, by erf. PyTorch computes only the plain operators; the
others exist to be exported. A mixer is a depthwise convolution of the patches with a constant
two-sided kernel."""
import json
import math
import struct

PARTS = {"attention": ("plain", "fused", "heads", "separate"), "gelu": ("plain", "fused"),
         "skip": ("plain", "fused"), "patches": ("product", "conv"), "last": ("whole", "cls")}
PLAIN = {part: ways[0] for part, ways in PARTS.items()}
MIXER = dict(directions=4, n_ssm=2)  # as in the models' own configuration


# ---- operators of com.microsoft ------------------------------------------------------------------

def fused_operators(torch):
    """Returns functions of tensors that are exported as one node each. Their values while tracing
    are of the right shape only."""

    class Attention(torch.autograd.Function):
        @staticmethod
        def forward(_, x, weight, bias, heads):
            return x.clone()

        @staticmethod
        def symbolic(g, x, weight, bias, heads):
            return g.op("com.microsoft::Attention", x, weight, bias, num_heads_i=heads
                        ).setType(x.type())

    class MultiHeadAttention(torch.autograd.Function):
        @staticmethod
        def forward(_, q, k, v, heads):
            return q.clone()

        @staticmethod
        def symbolic(g, q, k, v, heads):
            return g.op("com.microsoft::MultiHeadAttention", q, k, v, num_heads_i=heads
                        ).setType(q.type())

    class BiasGelu(torch.autograd.Function):
        @staticmethod
        def forward(_, x, bias):
            return x.clone()

        @staticmethod
        def symbolic(g, x, bias):
            return g.op("com.microsoft::BiasGelu", x, bias).setType(x.type())

    class SkipNorm(torch.autograd.Function):
        @staticmethod
        def forward(_, x, skip, weight, bias, eps):
            return x.clone(), x.clone()

        @staticmethod
        def symbolic(g, x, skip, weight, bias, eps):
            norm, _, _, total = g.op("com.microsoft::SkipLayerNormalization", x, skip, weight, bias,
                                     epsilon_f=eps, outputs=4)
            return norm.setType(x.type()), total.setType(x.type())

    return Attention.apply, MultiHeadAttention.apply, BiasGelu.apply, SkipNorm.apply


# ---- the model -----------------------------------------------------------------------------------

def build(torch, numbers: dict, weights: dict, form: dict, mixer_kernels=None):
    """weights: arrays by timm's names; mixer_kernels: for each block (channels, 2 rows - 1,
    2 cols - 1), or None."""
    functional = torch.nn.functional
    attention_node, heads_node, gelu_node, skip_node = fused_operators(torch)
    dim, heads, eps = numbers["dim"], numbers["heads"], numbers["eps"]
    image, patch, depth = numbers["image"], numbers["patch"], numbers["depth"]
    side = image // patch

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            for name, array in weights.items():
                self.register_buffer(name.replace(".", "_"), torch.from_numpy(array))
            if mixer_kernels is not None:
                for i, kernel in enumerate(mixer_kernels):
                    # ONNX's convolution is a correlation
                    flipped = torch.from_numpy(kernel[:, None, ::-1, ::-1].copy())
                    self.register_buffer(f"mixer_{i}", flipped)

        def get(self, name):
            return getattr(self, name.replace(".", "_"), None)

        def linear(self, x, name, rows=slice(None)):
            bias = self.get(name + ".bias")
            return functional.linear(x, self.get(name + ".weight")[rows],
                                     None if bias is None else bias[rows])

        def norm(self, x, name):
            return functional.layer_norm(x, (dim,), self.get(name + ".weight"),
                                         self.get(name + ".bias"), eps)

        def add_and_norm(self, x, branch, name):
            """Returns LayerNorm of the sum, and the sum."""
            if form["skip"] == "plain":
                x = x + branch
                return self.norm(x, name), x
            return skip_node(x, branch, self.get(name + ".weight"), self.get(name + ".bias"), eps)

        def mix(self, x, i):
            if mixer_kernels is None:
                return x
            B = x.shape[0]
            u = x[:, 1:].transpose(1, 2).reshape(B, dim, side, side)
            y = functional.conv2d(u, self.get(f"mixer.{i}"), padding=side - 1, groups=dim)
            return torch.cat((x[:, :1], y.reshape(B, dim, -1).transpose(1, 2)), 1)

        def attention(self, x, name, cls_alone):
            B, T, _ = x.shape
            way = form["attention"]
            weight, bias = self.get(name + ".weight"), self.get(name + ".bias")
            if way == "fused" and not cls_alone:
                bias = torch.zeros(3 * dim) if bias is None else bias
                return attention_node(x, weight.t().contiguous(), bias, heads)
            if cls_alone or way == "separate":
                q = self.linear(x[:, :1] if cls_alone else x, name, slice(dim))
            if way == "separate":
                k = self.linear(x, name, slice(dim, 2 * dim))
                v = self.linear(x, name, slice(2 * dim, 3 * dim))
            elif cls_alone:
                k, v = self.linear(x, name, slice(dim, 3 * dim)).split(dim, -1)
            else:
                q, k, v = self.linear(x, name).split(dim, -1)
            if way != "plain":
                return heads_node(q, k, v, heads)
            q, k, v = (t.reshape(B, -1, heads, dim // heads).transpose(1, 2) for t in (q, k, v))
            p = ((q * (dim // heads) ** -0.5) @ k.transpose(-2, -1)).softmax(-1)
            return (p @ v).transpose(1, 2).reshape(B, -1, dim)

        def mlp(self, x, name):
            if form["gelu"] == "plain":
                y = functional.gelu(self.linear(x, name + ".fc1"))
            else:
                y = gelu_node(x @ self.get(name + ".fc1.weight").t(), self.get(name + ".fc1.bias"))
            return self.linear(y, name + ".fc2")

        def embed(self, x):
            weight, bias = self.get("patch_embed.proj.weight"), self.get("patch_embed.proj.bias")
            if form["patches"] == "conv":
                x = functional.conv2d(x, weight, bias, stride=patch).flatten(2).transpose(1, 2)
            else:
                x = x.view(-1, 3, side, patch, side, patch).permute(0, 2, 4, 1, 3, 5)
                x = functional.linear(x.reshape(-1, side * side, 3 * patch * patch),
                                      weight.reshape(dim, -1), bias)
            return torch.cat((self.cls_token.expand(x.shape[0], -1, -1), x), 1) + self.pos_embed

        def forward(self, x):
            x = self.embed(x)
            y = self.norm(x, "blocks.0.norm1")
            for i in range(depth):
                block = f"blocks.{i}"
                cls_alone = i + 1 == depth and form["last"] == "cls"
                y = self.attention(self.mix(y, i), block + ".attn.qkv", cls_alone)
                if cls_alone:
                    x, y = x[:, :1], y[:, :1]
                y, x = self.add_and_norm(x, self.linear(y, block + ".attn.proj"), block + ".norm2")
                y = self.mlp(y, block + ".mlp")
                if i + 1 < depth:
                    y, x = self.add_and_norm(x, y, f"blocks.{i + 1}.norm1")
            x = (x + y)[:, 0]
            return self.linear(self.norm(x, "norm"), "head")

    return Model().eval()


def write_model(torch, path: str, model, images) -> None:
    torch.onnx.export(model, images, path, opset_version=17, input_names=["images"],
                      output_names=["logits"], custom_opsets={"com.microsoft": 1})


# ---- weights -------------------------------------------------------------------------------------

def random_weights(numpy, numbers: dict, mixer: bool, seed: int = 1) -> dict:
    """Arrays by timm's names, of sizes at which every part of the model shows in the logits."""
    rng = numpy.random.default_rng(seed)
    dim, patch, hidden = numbers["dim"], numbers["patch"], numbers["mlp"] * numbers["dim"]
    tokens = 1 + (numbers["image"] // patch) ** 2
    weights = {}

    def add(name, shape, scale, mean=0.0):
        weights[name] = (mean + scale * rng.standard_normal(shape)).astype("float32")

    def linear(name, out, inputs, bias=True):
        add(name + ".weight", (out, inputs), inputs ** -0.5)
        if bias:
            add(name + ".bias", (out,), 0.1)

    def norm(name):
        add(name + ".weight", (dim,), 0.1, 1.0)
        add(name + ".bias", (dim,), 0.1)

    add("cls_token", (1, 1, dim), 0.5)
    add("pos_embed", (1, tokens, dim), 0.5)
    add("patch_embed.proj.weight", (dim, 3, patch, patch), (3 * patch * patch) ** -0.5)
    add("patch_embed.proj.bias", (dim,), 0.1)
    for i in range(numbers["depth"]):
        block = f"blocks.{i}."
        norm(block + "norm1")
        if mixer:
            K, N = MIXER["directions"] * MIXER["n_ssm"], numbers["d_state"]
            add(block + "mixer.A", (4, K, N), 0.2)
            add(block + "mixer.B", (2, K, N), 0.2)
            add(block + "mixer.C", (2, K, N), 0.1)
            add(block + "mixer.D", (dim,), 0.1, 1.0)
        linear(block + "attn.qkv", 3 * dim, dim, numbers["qkv_bias"])
        linear(block + "attn.proj", dim, dim)
        norm(block + "norm2")
        linear(block + "mlp.fc1", hidden, dim)
        linear(block + "mlp.fc2", dim, hidden)
    norm("norm")
    linear("head", numbers["classes"], dim)
    return weights


def write_safetensors(path: str, weights: dict) -> None:
    header, at = {}, 0
    for name, array in weights.items():
        header[name] = {"dtype": "F32", "shape": list(array.shape),
                        "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for array in weights.values():
            file.write(array.tobytes())


def tool_config(numbers: dict, mixer: bool) -> dict:
    """Returns the configuration by which `ssm2d run` builds the same model."""
    own = {"kind": "ssm2d", "place": "attn", "assign": "distinct",
           "d_state": numbers.get("d_state"), **MIXER}
    return {"model": "deit" if numbers["qkv_bias"] else "vit", "image": [numbers["image"]] * 2,
            "channels": 3, "patch": numbers["patch"], "classes": numbers["classes"],
            "dim": numbers["dim"], "depth": numbers["depth"], "heads": numbers["heads"],
            "mlp_ratio": numbers["mlp"], "qkv_bias": numbers["qkv_bias"],
            "norm_eps": numbers["eps"], "pos_embed": True, "mixer": own if mixer else None}


# ---- kernels of the mixer ------------------------------------------------------------------------

def causal_kernels(numpy, A, B, C, side: int):
    """Returns the kernel of each system, (K, side, side): real systems, normalisation `relaxed`."""
    a1, a2, a3, a4 = 1 / (1 + numpy.exp(-A.astype("float64")))
    b1, b2 = 1 / (1 + numpy.exp(-B.astype("float64")))
    K, N = b1.shape
    h, v = numpy.zeros((2, side, side, K, N))
    for i in range(side):
        for j in range(side):
            half = 0.5 if i and j else 1.0
            if i == 0 and j == 0:
                h[0, 0], v[0, 0] = b1, b2
            if j:
                h[i, j] = half * (a1 * h[i, j - 1] + a2 * v[i, j - 1])
            if i:
                v[i, j] = half * (a3 * h[i - 1, j] + a4 * v[i - 1, j])
    return (C[0] * h + C[1] * v).sum(-1).transpose(2, 0, 1) / math.sqrt(N)


def two_sided_kernels(numpy, weights: dict, numbers: dict):
    """Returns for each block the kernel of all directions and D about the centre,
    (dim, 2 side - 1, 2 side - 1); the directions of a channel have different systems."""
    dim, side = numbers["dim"], numbers["image"] // numbers["patch"]
    R, S = MIXER["directions"], MIXER["n_ssm"]
    flips = [(1, 1), (-1, 1), (1, -1), (-1, -1)]  # none, rows, columns, both
    kernels = []
    for i in range(numbers["depth"]):
        A, B, C, D = (weights[f"blocks.{i}.mixer.{name}"] for name in "ABCD")
        causal = causal_kernels(numpy, A, B, C, side)
        both = numpy.zeros((dim, 2 * side - 1, 2 * side - 1))
        for r in range(R):
            down, right = flips[r]
            rows = slice(side - 1, None) if down > 0 else slice(None, side)
            cols = slice(side - 1, None) if right > 0 else slice(None, side)
            systems = (numpy.arange(dim) + r * S) % (R * S)
            both[:, rows, cols] += causal[systems][:, ::down, ::right]
        both[:, side - 1, side - 1] += D
        kernels.append(both.astype("float32"))
    return kernels
