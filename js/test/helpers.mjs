/* What the tests of the package share: the package that js/build.sh has made, arrays in files, and
 * the native tool with SSM2D_CPU=baseline, by the environment's TOOL. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { load } from "../../build/js/package/ssm2d.js";

export const root = fileURLToPath(new URL("../..", import.meta.url));
export const modules = { simd: await load({ simd: true }), baseline: await load({ simd: false }) };

const scratch = mkdtempSync(join(tmpdir(), "ssm2d-js-"));
process.on("exit", () => rmSync(scratch, { recursive: true }));

/** A path in a folder that is removed at the end. */
export const temporary = (name) => join(scratch, name);

/** The output of the native tool, on one thread with the baseline instructions. */
export function tool(...words) {
    const done = spawnSync(process.env.TOOL, [...words, "--threads", "1"],
        { encoding: "utf8", env: { ...process.env, SSM2D_CPU: "baseline" } });
    if (done.status !== 0) throw new Error(`ssm2d ${words.join(" ")}: ${done.stderr}${done.error ?? ""}`);
    return done.stdout;
}

/** The array of a .npy file, little-endian and in C order: {data, shape}. */
export function readNpy(path) {
    const bytes = readFileSync(path);
    const start = 10 + bytes.readUInt16LE(8), header = bytes.toString("latin1", 10, start);
    const Type = { "<f8": Float64Array, "<f4": Float32Array, "<i8": BigInt64Array }[
        /'descr': '([^']*)'/.exec(header)[1]];
    const shape = /'shape': \(([^)]*)\)/.exec(header)[1].split(",").filter((n) => n.trim()).map(Number);
    return { data: new Type(bytes.buffer.slice(bytes.byteOffset + start,
        bytes.byteOffset + bytes.length)), shape };
}

/** The files of a folder by their names. */
export function readFolder(folder) {
    return Object.fromEntries(readdirSync(folder).map((name) =>
        [name, new Uint8Array(readFileSync(join(folder, name)))]));
}

/** max|a - b| / max|b| */
export function difference(a, b) {
    if (a.length !== b.length) return Infinity;
    let most = 0, scale = 0;
    for (let i = 0; i < a.length; i++) {
        const d = Math.abs(a[i] - b[i]);
        most = Number.isNaN(d) || d > most ? d : most;
        scale = Math.max(scale, Math.abs(b[i]));
    }
    return most === 0 ? 0 : most / scale;
}

/** Whether two arrays have the same bits. */
export function same(a, b) {
    return Buffer.compare(Buffer.from(a.buffer, a.byteOffset, a.byteLength),
        Buffer.from(b.buffer, b.byteOffset, b.byteLength)) === 0;
}

/** [from axes ..] to [to axes ..]: order[i] is the axis of `data` that becomes axis i. */
export function transpose(data, shape, order) {
    const out = new data.constructor(data.length), sizes = order.map((axis) => shape[axis]);
    const steps = shape.map((_, axis) => shape.slice(axis + 1).reduce((a, b) => a * b, 1));
    const index = sizes.map(() => 0);
    for (let i = 0; i < out.length; i++) {
        out[i] = data[index.reduce((sum, n, axis) => sum + n * steps[order[axis]], 0)];
        for (let axis = sizes.length - 1; axis >= 0 && ++index[axis] === sizes[axis]; axis--)
            index[axis] = 0;
    }
    return out;
}

/** Writes pixels as a BMP of 24 bits: rows from below, padded to 4 bytes, blue first. */
export function writeBmp(path, { data, width, height }) {
    const stride = (3 * width + 3) & ~3, channels = data.length / (width * height);
    const bytes = Buffer.alloc(54 + stride * height);
    bytes.write("BM");
    for (const [at, value] of [[2, bytes.length], [10, 54], [14, 40], [18, width], [22, height]])
        bytes.writeUInt32LE(value, at);
    bytes.writeUInt16LE(1, 26);
    bytes.writeUInt16LE(24, 28);
    for (let row = 0; row < height; row++)
        for (let col = 0; col < width; col++)
            for (let c = 0; c < 3; c++)
                bytes[54 + (height - 1 - row) * stride + 3 * col + 2 - c] =
                    data[(row * width + col) * channels + Math.min(c, channels - 1)];
    writeFileSync(path, bytes);
}

/** Writes an array of doubles as .npy. */
export function writeNpy(path, data, shape) {
    const head = `{'descr': '<f8', 'fortran_order': False, 'shape': (${shape.join(", ")},), }`;
    const padded = `${head.padEnd(Math.ceil((head.length + 11) / 64) * 64 - 11)}\n`;
    const start = Buffer.from("\x93NUMPY\x01\x00\x00\x00", "latin1");
    start.writeUInt16LE(padded.length, 8);
    writeFileSync(path, Buffer.concat([start, Buffer.from(padded, "latin1"),
        Buffer.from(data.buffer, data.byteOffset, data.byteLength)]));
}
