/* Trained models in both modules beside the native tool: a run's folder through `ssm2d predict`, and
 * every golden model through `ssm2d run`. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { difference, modules, readFolder, readNpy, root, same, temporary, tool, writeBmp }
    from "./helpers.mjs";

const run = join(root, "tests/golden-runs/0.1");
const models = join(root, "tests/golden-models");

/* Pixels of an image that has no symmetry. */
function picture(width, height, channels) {
    const data = Uint8Array.from({ length: width * height * channels },
        (_, i) => Math.floor(127.5 + 127.5 * Math.sin(i * 0.7 + (i * i) / 300)));
    return { data, width, height };
}

for (const [name, ssm2d] of Object.entries(modules)) {
    test(`${name}: a run's folder predicts as the tool does`, () => {
        const model = ssm2d.openModel(readFolder(run));
        assert.equal(model.name, "vit-mini");
        assert.deepEqual(model.classes, ["0", "1", "2", "3"]);
        assert.equal(model.activation, "softmax");
        assert.deepEqual([model.rows, model.cols, model.channels, model.blocks], [8, 8, 1, 2]);
        for (const [width, height, channels] of [[8, 8, 1], [31, 17, 3], [5, 60, 1]]) {
            const image = picture(width, height, channels), path = temporary(`${name}.bmp`);
            writeBmp(path, image);
            const said = JSON.parse(tool("predict", run, path, "--json", "--top", "4"));
            const { ranking } = model.classify(image);
            assert.equal(said.classes.length, 4);
            said.classes.forEach((w, i) => {
                assert.equal(ranking[i].name, w.name);
                assert.ok(Math.abs(ranking[i].probability - w.probability) < 1e-6,
                    `${ranking[i].probability} ${w.probability}`);
            });
        }
        model.free();
        assert.throws(() => model.classify(picture(8, 8, 1)), /after free/);
    });

    test(`${name}: weights of the last and of the best epoch`, () => {
        const files = readFolder(run), image = picture(8, 8, 1);
        files["best.safetensors"] = files["end.safetensors"]; // its own are those of the last epoch
        const [last, best, chosen] = ["last", "best", undefined].map((weights) => {
            const model = ssm2d.openModel(files, { weights });
            const { logits } = model.classify(image);
            model.free();
            return logits;
        });
        assert.ok(!same(last, best));
        assert.ok(same(best, chosen));
        assert.throws(() => ssm2d.openModel(files, { weights: "first" }), /weights=first/);
    });

    test(`${name}: features, other sizes and receptive fields`, () => {
        const model = ssm2d.openModel(readFolder(run)), image = picture(20, 20, 1);
        const f = model.features(image, 1);
        assert.deepEqual([f.tokens, f.dim, f.first, f.rows, f.cols], [5, 16, 1, 2, 2]);
        assert.equal(f.data.length, 80);
        const large = model.features(image, 2, { rows: 16, cols: 24 });
        assert.deepEqual([large.rows, large.cols], [4, 6]);
        const prepared = model.prepare(image);
        assert.equal(prepared.length, 64);
        assert.ok(same(model.run(prepared).logits, model.classify(image).logits));
        const field = model.receptiveField(image);
        assert.equal(field.data.length, 64);
        assert.ok(Math.abs(Math.max(...field.data) - 1) < 1e-12);
        assert.ok(Math.min(...field.data) >= 0);
        assert.deepEqual(field.centre, { row: 4, col: 4, rows: 4, cols: 4 });
        assert.throws(() => model.features(image, 3), /3.*2/);
        assert.throws(() => model.classify({ data: new Uint8Array(7), width: 2, height: 2 }), /8 bits/);
        model.free();
    });

    test(`${name}: refuses what is no model`, () => {
        const files = readFolder(run);
        assert.throws(() => ssm2d.openModel({}), /config\.json/);
        assert.throws(() => ssm2d.openModel({ ...files, "config.json": new Uint8Array([123]) }),
            /config\.json/);
        assert.throws(() => ssm2d.openModel({ ...files, "best.safetensors":
            files["best.safetensors"].subarray(0, 900) }), /best\.safetensors/);
        assert.throws(() => ssm2d.openModel({ "../x": new Uint8Array(1) }), /not the name of a file/);
        assert.throws(() => ssm2d.openModel(new Uint8Array(100)), { name: "Ssm2dError" });
    });
}

const collection = join(root, "models");
for (const file of readdirSync(collection).filter((n) => n.endsWith(".ssm2d")))
    test(`model ${file} predicts as the tool does`, (t) => {
        const bytes = new Uint8Array(readFileSync(join(collection, file)));
        for (const [name, ssm2d] of Object.entries(modules)) {
            const model = ssm2d.openModel(bytes);
            let most = 0;
            for (const [width, height, channels] of [[28, 28, 1], [61, 40, 3]]) {
                const image = picture(width, height, channels), path = temporary("garment.bmp");
                writeBmp(path, image);
                const said = JSON.parse(tool("predict", join(collection, file), path, "--json",
                    "--top", String(model.classes.length)));
                const { ranking } = model.classify(image);
                assert.deepEqual(ranking.map((r) => r.name), said.classes.map((c) => c.name));
                ranking.forEach((r, i) => {
                    most = Math.max(most, Math.abs(r.probability - said.classes[i].probability));
                });
            }
            model.free();
            t.diagnostic(`${file}, ${name}: probabilities differ by at most ${most.toExponential(1)}`);
            assert.ok(most < 1e-6, `${name}: ${most}`);
        }
    });

const furthest = { simd: 0, baseline: 0 };
for (const name of readdirSync(models).filter((n) => !n.endsWith(".md")))
    test(`golden model ${name}`, () => {
        const folder = join(models, name), out = temporary(`${name}.npy`);
        tool("run", "--config", join(folder, "config.json"), "--weights",
            join(folder, "weights.safetensors"), "--input", join(folder, "x.npy"), "-o", out);
        const x = readNpy(join(folder, "x.npy")), native = readNpy(out).data;
        const files = { "config.json": readFileSync(join(folder, "config.json")),
            "model.safetensors": readFileSync(join(folder, "weights.safetensors")) };
        const logits = Object.values(modules).map((ssm2d) => {
            const model = ssm2d.openModel(files), images = [], n = x.data.length / x.shape[0];
            for (let i = 0; i < x.shape[0]; i++)
                images.push(...model.run(x.data.slice(i * n, (i + 1) * n)).logits);
            model.free();
            return Float32Array.from(images);
        });
        for (const [i, name] of Object.keys(modules).entries()) {
            const d = difference(logits[i], native);
            furthest[name] = Math.max(furthest[name], d);
            assert.ok(d < 1e-6, `${name}: differs from the native library by ${d}`);
            assert.ok(difference(logits[i], readNpy(join(folder, "logits.npy")).data) < 1e-5);
        }
    });

test("golden models beside the native library", (t) =>
    t.diagnostic(`logits differ by at most ${furthest.simd.toExponential(1)} of the largest, without `
        + `SIMD by ${furthest.baseline.toExponential(1)}`));
