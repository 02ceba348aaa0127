/* The system that all parts of the page share: eight coefficients, their norm and directions, and
 * the layers of the library that have them. */

/** A complex number is {r, t}: radius and angle in turns; real coefficients have t = 0. */
const one = (r, t = 0) => ({ r, t });

export const system = {
    values: "real", norm: "relaxed", directions: 1, size: 16,
    a: [one(0.95), one(0.6), one(0.4), one(0.9)], b: [one(1), one(0.5)], c: [one(1), one(1)],
};

const listeners = [];
export const onSystem = (listener) => listeners.push(listener);
export const systemChanged = () => listeners.forEach((listener) => listener());

/** real: [a1, a2, a3, a4, b1, b2, c1, c2]; angles likewise, in turns */
export function setSystem(radii, angles, settings) {
    ["a", "b", "c"].forEach((name) => system[name].forEach((x, i) => {
        const at = { a: 0, b: 4, c: 6 }[name] + i;
        x.r = radii[at];
        x.t = angles?.[at] ?? 0;
    }));
    Object.assign(system, { values: angles ? "polar" : "real" }, settings);
    systemChanged();
}

/* The raw parameter of a coefficient from 0 to 1; at +-800 the sigmoid is exactly 0 or 1. */
export const logit = (x) => x <= 0 ? -800 : x >= 1 ? 800 : Math.log(x / (1 - x));

/** The settings of a layer with this system in every channel. */
export function settingsOf(s, more = {}) {
    return { channels: 1, n_ssm: 1, d_state: 1, directions: s.directions, norm: s.norm,
        values: s.values, share_directions: true, skip: false, ...more };
}

/** The parameters of that layer by name, as ssm2d_layer_param has them. */
export function parametersOf(s) {
    if (s.values === "real")
        return { A: s.a.map((x) => logit(x.r)), B: s.b.map((x) => logit(x.r)),
            C: s.c.map((x) => x.r) };
    const angles = (list) => list.map((x) => logit(x.t));
    return { A_angle: angles(s.a), A_radius: s.a.map((x) => logit(x.r)), B_angle: angles(s.b),
        B_radius: s.b.map((x) => logit(x.r)), C_angle: angles(s.c), C_radius: s.c.map((x) => x.r) };
}

const layers = new Map();

/** A layer with this system and its parameters, kept for the next call: {layer, params}. */
export function layerOf(ssm2d, s, more, Type = Float64Array) {
    const settings = settingsOf(s, more), key = JSON.stringify(settings);
    if (!layers.has(key)) layers.set(key, ssm2d.layer("ssm2d", settings));
    const layer = layers.get(key), params = new Type(layer.parameterCount), by = parametersOf(s);
    for (const p of layer.parameters) params.set(by[p.name], p.offset);
    return { layer, params };
}

/** The kernel of one direction, [rows][cols]. */
export function kernelOf(ssm2d, s, rows, cols) {
    const { layer, params } = layerOf(ssm2d, s);
    return layer.kernel(params, { rows, cols }).data.subarray(0, rows * cols);
}

/** What the layer makes of a 1 in the middle of [2*side - 1][2*side - 1]. */
export function responseOf(ssm2d, s, side) {
    const { layer, params } = layerOf(ssm2d, s), n = 2 * side - 1, u = new Float64Array(n * n);
    u[(u.length - 1) / 2] = 1;
    return layer.forward(params, u, { rows: n, cols: n });
}

/* Presets: coefficients as `ssm2d theory` and the paper's figures have them. `drawn`: the seed of
 * Figure 3's distribution, with one state. */
export const presets = [
    { name: "A long, soft corner", values: [.95, .6, .4, .9, 1, .5, 1, 1], norm: "relaxed",
        directions: 1, size: 16, note: "A start to play with." },
    { name: "Blur in all directions", values: [.7, .7, .7, .7, 1, 1, 1, 1], norm: "half",
        directions: 4, size: 12, note: "Four corners, each with the same system. With the norm half "
        + "the response falls off quickly." },
    { name: "Horizontal smear", values: [.97, .05, .05, .05, 1, .02, 1, .02], norm: "relaxed",
        directions: 2, size: 16, note: "A1 near 1 carries h to the right; nothing moves down." },
    { name: "Edges: plus here, minus around", values: [.6, .6, .6, .6, 1, 1, 1, -1],
        norm: "half", directions: 4, size: 12, note: "C1 and C2 of opposite signs." },
    { name: "Pascal's triangle (the proof of full rank)", values: [1, 1, 1, 0, 1, 0, 1, 0],
        norm: "none", directions: 1, size: 8, note: "K[i,j] = j over i: an upper triangular matrix "
        + "of full rank, which no product of two one-dimensional kernels has." },
    { name: "Lattice paths (Figure 2)", values: [1, 1, 1, 1, 1, 0, 1, 1], norm: "none",
        directions: 1, size: 5, note: "With all coefficients 1, K[i,j] counts the paths from (0,0) to "
        + "(i,j). The tab Recursion shows them one by one." },
    { name: "Relaxed: the same, bounded", values: [1, 1, 1, 1, 1, 0, 1, 1], norm: "relaxed",
        directions: 1, size: 16, note: "The halves of the norm relaxed keep the border and the "
        + "diagonal at 1, however large the grid is." },
    { name: "S4ND as a special case", values: [.9, .6, 0, .8, 0, 1, .75, .5],
        norm: "none", directions: 1, size: 16, note: "A3 = 0, B1 = 0, C1 = C2 A1/A2: the kernel "
        + "is a product of a column and a row, of rank 1." },
    { name: "Figure 3: before the relaxation", drawn: 1, norm: "half", directions: 1, size: 20,
        note: "A draw from the distribution of the paper's Figure 3, with the norm half." },
    { name: "Figure 3: after the relaxation", drawn: 1, norm: "paper", directions: 1, size: 20,
        note: "The same coefficients with the norm paper: the kernel reaches further." },
    { name: "Waves (complex)", values: [.97, .5, .5, .97, 1, 1, 1, 1],
        angles: [.06, .02, .02, .1, 0, 0, 0, 0], norm: "relaxed", directions: 1, size: 24,
        note: "Complex coefficients turn while they move, which makes waves." },
    { name: "Ripples (complex)", values: [.93, .8, .8, .93, 1, 1, 1, 1],
        angles: [.12, .12, .12, .12, 0, 0, 0, 0], norm: "half", directions: 4, size: 20,
        note: "The same wave from four corners." },
];

const sigmoid = (x) => 1 / (1 + Math.exp(-x));

/* As theory_kernel_drawn of the tool: initial values of the layer, with A spread. */
function drawnValues(ssm2d, seed) {
    const layer = ssm2d.layer("ssm2d", { channels: 1, n_ssm: 1, d_state: 1, directions: 1,
        skip: false, init: "authors" });
    const raw = layer.initialParameters(seed, Float64Array);
    layer.free();
    return Array.from(raw, (x, i) => i < 4 ? sigmoid(3 + 7.5 * x) : i < 6 ? sigmoid(x) : x);
}

export function applyPreset(ssm2d, p) {
    setSystem(p.values ?? drawnValues(ssm2d, p.drawn), p.angles, { norm: p.norm,
        directions: p.directions, size: p.size });
}
