"""reference.py - the 2-D SSM layer, its gradient and a classifier made of it, in NumPy.

    python3 reference.py

trains the network of reference.c on the same images, and prints the same curve. The comments are
there; here is what arrays make shorter: all systems at once, and all images of a batch at once.
A signal is (batch, L1, L2, H); a kernel k is (K, L1, L2). MIT licence."""
import numpy as np

L1, L2, H, N, S = 8, 10, 6, 4, 2  # rows, columns, channels, states, systems per direction
R, CLASSES = 4, 4                 # directions, classes


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


# ---- 3.1 The recursion, 3.2 Parameters and kernel. A layer is a dict of A (4, K, N), B (2, K, N),
# C (2, K, N) and D (H), for K = R * S systems.

def coefficients(p):
    return sigmoid(p["A"]), sigmoid(p["B"]), p["C"] * np.sqrt(1 / p["C"].shape[2])


def step_norm(i, j):
    return 1 if i == 0 or j == 0 else 0.5


def states(a, b, rows, cols):
    """h (moving right) and v (moving down) of every cell: (rows, cols, K, N)."""
    h, v = np.zeros((2, rows, cols) + b[0].shape)
    for i in range(rows):
        for j in range(cols):
            g = step_norm(i, j)
            if j > 0:
                h[i, j] = g * (a[0] * h[i, j - 1] + a[1] * v[i, j - 1])
            if i > 0:
                v[i, j] = g * (a[2] * h[i - 1, j] + a[3] * v[i - 1, j])
            if i == 0 and j == 0:
                h[i, j], v[i, j] = b
    return h, v


def kernels(p, rows, cols):
    a, b, c = coefficients(p)
    h, v = states(a, b, rows, cols)
    return (c[0] * h + c[1] * v).sum(-1).transpose(2, 0, 1)


def kernels_back(p, dk):
    """The gradients of A, B and C, by the adjoint of the recursion: from the last cell back."""
    rows, cols = dk.shape[1:]
    a, b, c = coefficients(p)
    h, v = states(a, b, rows, cols)
    q = dk.transpose(1, 2, 0)[..., None]
    dc = np.stack([(q * h).sum((0, 1)), (q * v).sum((0, 1))])
    dh, dv, da = q * c[0], q * c[1], np.zeros_like(a)
    for i in reversed(range(rows)):
        for j in reversed(range(cols)):
            g = step_norm(i, j)
            if j > 0:
                da[0] += g * dh[i, j] * h[i, j - 1]
                da[1] += g * dh[i, j] * v[i, j - 1]
                dh[i, j - 1] += g * dh[i, j] * a[0]
                dv[i, j - 1] += g * dh[i, j] * a[1]
            if i > 0:
                da[2] += g * dv[i, j] * h[i - 1, j]
                da[3] += g * dv[i, j] * v[i - 1, j]
                dh[i - 1, j] += g * dv[i, j] * a[2]
                dv[i - 1, j] += g * dv[i, j] * a[3]
    db = np.stack([dh[0, 0], dv[0, 0]])
    return {"A": da * a * (1 - a), "B": db * b * (1 - b), "C": dc * np.sqrt(1 / c.shape[2])}


# ---- The layer: convolution in four directions

def flipped(r, x):
    return x[:, ::-1 if r & 1 else 1, ::-1 if r & 2 else 1]


def systems(r, channels, count):
    """The system of every channel in direction r."""
    return (np.arange(channels) + r * (count // R)) % count


def layer(k, D, u):
    y = D * u
    rows, cols = u.shape[1:3]
    for r in range(R):
        x, out = flipped(r, u), flipped(r, y)  # views: adding to out adds to y
        kr = k[systems(r, len(D), len(k))]
        for i in range(rows):
            for j in range(cols):
                out[:, i:, j:] += kr[:, i, j] * x[:, :rows - i, :cols - j]
    return y


def layer_back(k, D, u, dy):
    """du, dk and dD."""
    du, dk, dD = D * dy, np.zeros_like(k), (u * dy).sum((0, 1, 2))
    rows, cols = u.shape[1:3]
    for r in range(R):
        x, dx, dout = flipped(r, u), flipped(r, du), flipped(r, dy)
        s = systems(r, len(D), len(k))
        for i in range(rows):
            for j in range(cols):
                later, cell = dout[:, i:, j:], x[:, :rows - i, :cols - j]
                dx[:, :rows - i, :cols - j] += k[s, i, j] * later
                np.add.at(dk, (s, i, j), (cell * later).sum((0, 1, 2)))
    return du, dk, dD


# ---- A network of two layers. Its weights are a dict of arrays; "layer1" and "layer2" are dicts.

def silu(x):
    return x * sigmoid(x)


def silu_slope(x):
    return sigmoid(x) * (1 + x * (1 - sigmoid(x)))


def network(w, images, labels=None):
    """logits, and for given labels (logits, loss, gradient): sums over the images."""
    p1, p2 = w["layer1"], w["layer2"]
    k1, k2 = kernels(p1, *images.shape[1:3]), kernels(p2, *images.shape[1:3])
    u1 = images @ w["E"] + w["e"]
    y1 = layer(k1, p1["D"], u1)
    u2 = silu(y1) @ w["M"] + w["m"]
    y2 = layer(k2, p2["D"], u2)
    mean = silu(y2).mean((1, 2))
    logits = mean @ w["V"] + w["v"]
    if labels is None:
        return logits
    e = np.exp(logits)
    loss = (np.log(e.sum(1)) - logits[range(len(labels)), labels]).sum()

    dlogits = e / e.sum(1, keepdims=True) - np.eye(CLASSES)[labels]
    dy2 = (dlogits @ w["V"].T)[:, None, None] / y2[0, ..., 0].size * silu_slope(y2)
    du2, dk2, dD2 = layer_back(k2, p2["D"], u2, dy2)
    dy1 = du2 @ w["M"].T * silu_slope(y1)
    du1, dk1, dD1 = layer_back(k1, p1["D"], u1, dy1)

    def product(x, d):
        return x.reshape(-1, x.shape[-1]).T @ d.reshape(-1, d.shape[-1])

    gradient = {"E": product(images, du1), "e": du1.sum((0, 1, 2)),
                "layer1": {**kernels_back(p1, dk1), "D": dD1},
                "M": product(silu(y1), du2), "m": du2.sum((0, 1, 2)),
                "layer2": {**kernels_back(p2, dk2), "D": dD2},
                "V": mean.T @ dlogits, "v": dlogits.sum(0)}
    return logits, loss, gradient


# ---- Training. The task: along which of four directions has a noisy image stripes?

state = 1


def uniform(deviation):
    global state
    state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
    return ((state >> 11) / 4503599627370496 - 1) * np.sqrt(3) * deviation


def draw():
    label = int((uniform(1) / np.sqrt(3) + 1) * 2)
    stripe = [uniform(1) for _ in range(L1 + L2)]
    along = (lambda i, j: i, lambda i, j: j, lambda i, j: i - j + L2 - 1, lambda i, j: i + j)
    image = [[[stripe[along[label](i, j)] + uniform(0.5)] for j in range(L2)] for i in range(L1)]
    return image, label


def batch(count):
    images, labels = zip(*[draw() for _ in range(count)])
    return np.array(images), np.array(labels)


def init():
    def array(*shape):
        return np.array([uniform(0.2) for _ in range(int(np.prod(shape)))]).reshape(shape)

    def ssm():
        shape = (R * S, N)
        return {"A": array(4, *shape), "B": array(2, *shape), "C": array(2, *shape),
                "D": 0 * array(H) + 1}

    return {"E": array(1, H) * 5, "e": array(H), "layer1": ssm(), "M": array(H, H) * 2,
            "m": array(H), "layer2": ssm(), "V": array(H, CLASSES), "v": array(CLASSES)}


def arrays(tree):
    return [a for x in tree.values() for a in (arrays(x) if isinstance(x, dict) else [x])]


def main(steps=300, test=1000):
    w = init()
    moments = [(np.zeros_like(x), np.zeros_like(x)) for x in arrays(w)]
    total = 0
    for step in range(1, steps + 1):
        images, labels = batch(16)
        _, loss, gradient = network(w, images, labels)
        total += loss / 16
        for x, g, (m1, m2) in zip(arrays(w), arrays(gradient), moments):  # Adam
            m1 += 0.1 * (g / 16 - m1)
            m2 += 0.001 * ((g / 16) ** 2 - m2)
            x -= 0.01 * m1 / (1 - 0.9**step) / (np.sqrt(m2 / (1 - 0.999**step)) + 1e-8)
        if step % 25 == 0:
            print(f"step {step:3}  loss {total / 25:.6f}")
            total = 0
    images, labels = batch(test)
    right = (network(w, images).argmax(1) == labels).mean()
    print(f"{100 * right:.1f} % of {test} new images are right")


if __name__ == "__main__":
    main()
