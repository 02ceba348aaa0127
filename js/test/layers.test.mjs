/* Every golden layer case, in float and double, with every algorithm, in both modules: against the
 * golden arrays; the module with SIMD128 against the native library on the baseline instructions, and
 * the modules against each other. */
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { difference, modules, readNpy, root, same, temporary, tool, transpose } from "./helpers.mjs";

const golden = join(root, "tests/golden");
const ALLOWED = { float: 1e-5, double: 1e-12 }; // from the golden arrays, as tests/test_golden.c
// From the native library. Coefficients are computed in double, where exp, sin and cos of two C
// libraries differ in the last bit; rounded to float they are the same, and so is all that follows.
const NATIVE_DOUBLE = 1e-14;
// The module without SIMD has one lane, so that it adds in another order.
const MODULES = { float: 2e-6, double: 1e-13 }, modulesDiffer = { float: 0, double: 0 };
const seen = { float: { same: 0, close: 0, furthest: 0 }, double: { same: 0, close: 0, furthest: 0 } };

/* The settings of a case: files of golden cases have the keys of version 0.1. */
function settingsOf(c) {
    if (c.kind === "s4nd") return { channels: c.channels, n_ssm: c.n_ssm, d_state: c.d_state };
    if (c.kind === "ema")
        return { channels: c.channels, d_state: c.d_state, bidirectional: c.bidirectional,
            shift: c.shift, ...(c.trunc ? { trunc: c.trunc } : {}) };
    const [trunc_rows, trunc_cols] = c.trunc ?? [0, 0];
    return { channels: c.channels, d_state: c.d_state, n_ssm: c.n_ssm, directions: c.directions,
        values: c.complex ? c.complex_form : "real", norm: c.norm, skip: c.skip,
        share_directions: c.share_directions, c_per_channel: c.c_per_channel, trunc_rows,
        trunc_cols, layer_norm: c.normalize, assign: c.assign ?? "authors" };
}

function readCase(name) {
    const folder = join(golden, name);
    const c = JSON.parse(readFileSync(join(folder, "case.json"), "utf8"));
    const raster = c.kind === "ema", array = (file) => readNpy(join(folder, `${file}.npy`));
    return { ...c, folder, array, grid: { batch: c.batch, shape: raster ? [c.L] : [c.L1, c.L2] },
        // (batch, channels, rows, cols), or for ema (cells, batch, channels), to [batch][..][channels]
        order: raster ? [1, 0, 2] : [0, 2, 3, 1] };
}

/* The difference from the native library; counts results of the same bits. */
function beside(what, got, want, type) {
    const d = difference(got, want);
    const s = seen[type];
    if (same(got, want)) s.same++;
    else s.close++;
    s.furthest = Math.max(s.furthest, d);
    assert.ok(type === "float" ? same(got, want) : d <= NATIVE_DOUBLE, `${what}: differs from the native library by ${d}`);
}

function runCase(ssm2d, c, type, algorithm) {
    const Type = type === "float" ? Float32Array : Float64Array;
    const layer = ssm2d.layer(c.kind, settingsOf(c));
    const params = new Type(layer.parameterCount);
    for (const p of layer.parameters)
        params.set(c.array(p.name === "D" && c.kind === "ssm2d" ? "omega" : p.name).data, p.offset);
    const grid = { ...c.grid, algorithm };
    const [u, dy] = ["u", "dy"].map((name) => {
        const { data, shape } = c.array(name);
        return transpose(Type.from(data), shape, c.order);
    });
    const K = layer.kernel(params, grid).data, y = layer.forward(params, u, grid);
    const { du, dparams } = layer.backward(params, u, dy, grid);
    assert.equal(layer.algorithm(grid, Type), algorithm);
    const gradients = Object.fromEntries(layer.parameters.map((p) => [
        `d${p.name === "D" && c.kind === "ssm2d" ? "omega" : p.name}`,
        dparams.subarray(p.offset, p.offset + p.count)]));
    layer.free();
    return { K, y, du, ...gradients };
}

/* Algorithms that refuse a case (a kernel that is cut) say so, natively as well. */
function refuses(ssm2d, c, algorithm) {
    const layer = ssm2d.layer(c.kind, settingsOf(c));
    try {
        layer.algorithm({ ...c.grid, algorithm });
        return false;
    } catch (error) {
        assert.match(error.message, new RegExp(algorithm));
        return true;
    } finally {
        layer.free();
    }
}

const names = readdirSync(golden).filter((name) => !name.endsWith(".md"));
let checked = 0;
for (const name of names)
    test(`golden case ${name}`, () => {
        const c = readCase(name);
        const kind = modules.simd.kinds.find((k) => k.name === c.kind);
        for (const algorithm of kind.algorithms)
            for (const type of ["float", "double"]) {
                if (refuses(modules.simd, c, algorithm)) continue;
                const out = temporary(`${name}-${algorithm}-${type}`);
                tool("layer", c.folder, "-o", out, "--algo", algorithm, "--precision", type);
                const simd = runCase(modules.simd, c, type, algorithm);
                const baseline = runCase(modules.baseline, c, type, algorithm);
                for (const array of Object.keys(simd)) {
                    const what = `${name} ${algorithm} ${type} ${array}`;
                    const grid = ["y", "du"].includes(array);
                    const ordered = ({ data, shape }) => grid ? transpose(data, shape, c.order) : data;
                    const d = difference(simd[array], ordered(c.array(array)));
                    // an array whose true value is zero has only rounding
                    if (Number.isFinite(d))
                        assert.ok(d <= ALLOWED[type], `${what}: differs from golden by ${d}`);
                    const between = difference(baseline[array], simd[array]);
                    if (Number.isFinite(between)) {
                        modulesDiffer[type] = Math.max(modulesDiffer[type], between);
                        assert.ok(between <= MODULES[type], `${what}: modules differ by ${between}`);
                    }
                    const native = ordered(readNpy(join(out, `${array}.npy`)));
                    beside(what, Float64Array.from(simd[array]), Float64Array.from(native), type);
                    checked++;
                }
            }
    });

test("all cases and algorithms were run", (t) => {
    assert.equal(names.length, 39);
    assert.ok(checked > 500, `${checked} arrays`);
    t.diagnostic(`the module without SIMD differs by at most ${modulesDiffer.float.toExponential(1)} `
        + `(float) and ${modulesDiffer.double.toExponential(1)} (double)`);
    for (const [type, { same, close, furthest }] of Object.entries(seen))
        t.diagnostic(`${type}: ${same} arrays have the native bits, ${close} differ by at most `
            + `${furthest.toExponential(1)} of their largest value`);
});

for (const [name, ssm2d] of Object.entries(modules)) {
    test(`${name}: a stream is the forward pass, row by row`, () => {
        const rows = 9, cols = 7;
        const layer = ssm2d.layer("ssm2d", "channels=5 d_state=3 directions=2 pair=columns");
        for (const Type of [Float32Array, Float64Array]) {
            const params = layer.initialParameters(3, Type);
            const u = Type.from({ length: rows * cols * 5 }, (_, i) => Math.sin(i * i));
            const y = layer.forward(params, u, { rows, cols });
            const stream = layer.stream(params, { cols });
            for (let pass = 0; pass < 2; pass++, stream.reset())
                for (let row = 0; row < rows; row++) {
                    const at = row * cols * 5, out = stream.push(u.subarray(at, at + cols * 5));
                    const d = difference(out, y.subarray(at, at + cols * 5));
                    assert.ok(d < (Type === Float32Array ? 1e-5 : 1e-13), `row ${row}: ${d}`);
                }
            stream.free();
        }
        layer.free();
    });

    test(`${name}: initial values are those of the native library`, () => {
        const layer = ssm2d.layer("ssm2d", { channels: 4 });
        assert.deepEqual(layer.initialParameters(7), layer.initialParameters(7));
        assert.notDeepEqual(layer.initialParameters(7), layer.initialParameters(2 ** 40 + 7));
        assert.equal(layer.parameters[0].name, "A");
        assert.deepEqual(layer.parameters[0].shape, [4, 8, 16]);
        assert.match(layer.settings, /^channels=4 .*d_state=16/);
        layer.free();
    });

    test(`${name}: errors are the library's line`, () => {
        assert.throws(() => ssm2d.layer("ssm2d", "channels=4 d_stat=2"), /d_stat.*d_state/);
        assert.throws(() => ssm2d.layer("ssm", "channels=4"), /ssm/);
        const layer = ssm2d.layer("ssm2d", { channels: 1 });
        const params = layer.initialParameters(), u = new Float32Array(4);
        assert.throws(() => layer.forward(params, u, { rows: 3, cols: 3 }), /u: has 4.*needs 9/);
        assert.throws(() => layer.forward(params, u, { rows: 2, col: 2 }), /no option col/);
        assert.throws(() => layer.forward(params, Float64Array.from(u), { rows: 2, cols: 2 }),
            /Float32Array/);
        assert.throws(() => layer.forward(params, u, { rows: 2, cols: 2, algorithm: "ftt" }), /fft/);
        assert.throws(() => layer.stream(params, { cols: 4 }), /directions/);
        assert.throws(() => layer.kernel(params, { rows: 1e6, cols: 1e6 }), ssm2dError);
        params[3] = NaN;
        assert.throws(() => layer.kernel(params, { rows: 2, cols: 2 }), /A\[3\]/);
        layer.free();
        layer.free();
        assert.throws(() => layer.kernel(params, { rows: 2, cols: 2 }), /after free/);
    });

    test(`${name}: free() gives memory back`, () => {
        const use = () => {
            const layer = ssm2d.layer("ssm2d", { channels: 16 });
            const params = layer.initialParameters();
            const u = new Float32Array(64 * 64 * 16);
            for (const algorithm of ["fft", "direct"])
                layer.forward(params, u, { rows: 64, cols: 64, algorithm });
            layer.free();
        };
        for (let i = 0; i < 4; i++) use();
        const before = ssm2d.memoryBytes;
        for (let i = 0; i < 40; i++) use();
        assert.equal(ssm2d.memoryBytes, before);
    });
}

function ssm2dError(error) {
    assert.equal(error.name, "Ssm2dError");
    return true;
}
