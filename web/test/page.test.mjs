/* The page in headless Chromium, from a file:// address. KEEP=FOLDER leaves pictures there to look
 * at. What it shows is compared with the native tool. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import test, { after, before } from "node:test";
import { pathToFileURL } from "node:url";
import { difference, readNpy, root, temporary, tool, transpose, writeBmp, writeNpy }
    from "../../js/test/helpers.mjs";
import { colourOf } from "../common.js";
import { parametersOf, settingsOf } from "../system.js";
import { hasBrowser, openBrowser } from "./browser.mjs";

const TABS = ["kernel", "recursion", "filter", "classify"];
const skip = hasBrowser ? false : "chromium is not installed (scripts/install-deps.sh js installs it)";
const file = temporary("index.html"), bare = temporary("bare.html");
const url = pathToFileURL(file).href;
// a run's folder and the models that the page has by default
const models = temporary("models"), ours = join(root, "models");
mkdirSync(models);
for (const [folder, name] of [[join(root, "tests/golden-runs"), "0.1"],
    ...readdirSync(ours).filter((n) => n.endsWith(".ssm2d")).map((n) => [ours, n])])
    symlinkSync(join(folder, name), join(models, name));
const wide = { width: 1280, height: 900, theme: "light" };
let browser;

before(async () => {
    for (const [folder, path] of [[models, file], [temporary("none"), bare]])
        assert.equal(spawnSync("node", [join(root, "web/build.mjs"), folder, path]).status, 0);
    if (!skip) browser = await openBrowser();
});
after(() => browser?.close());

const keep = async (page, name) => {
    if (!process.env.KEEP) return;
    mkdirSync(process.env.KEEP, { recursive: true });
    await page.screenshot(join(process.env.KEEP, `${name}.png`));
};

/* Sets a control as a user does. */
const set = (page, id, value) => page.evaluate(`{
    const e = document.getElementById(${JSON.stringify(id)});
    e.value = ${JSON.stringify(String(value))};
    e.dispatchEvent(new Event("input", {bubbles: true}));
    e.dispatchEvent(new Event("change", {bubbles: true}));
}`);

const click = (page, id) => page.evaluate(`document.getElementById(${JSON.stringify(id)}).click()`);
const text = (page, id) => page.evaluate(`document.getElementById(${JSON.stringify(id)}).innerText`);

async function showTab(page, tab) {
    await page.evaluate(`location.hash = ${JSON.stringify(tab)}`);
    await page.until(`!document.getElementById(${JSON.stringify(tab)}).hidden`);
    if (tab === "classify") await page.until("document.querySelectorAll('#ranking li').length > 1");
    if (tab === "filter") await page.until("/rows of/.test(document.getElementById('filter-text').textContent)");
}

/* K and y of a system by the native tool; u: [rows][cols][channels], by default a 1 in the middle. */
function native(s, rows, cols, more = {}, u = undefined, precision = "double") {
    const folder = temporary(`case-${Math.random()}`), settings = settingsOf(s, more);
    mkdirSync(folder);
    writeFileSync(join(folder, "case.json"), JSON.stringify({ kind: "ssm2d", batch: 1, L1: rows,
        L2: cols, assign: "distinct", ...settings }));
    for (const [name, list] of Object.entries(parametersOf(s)))
        writeNpy(join(folder, `${name}.npy`), Float64Array.from(list), [list.length, 1, 1]);
    const n = settings.channels, cells = new Float64Array(n * rows * cols);
    if (!u) cells[(cells.length - 1) / 2] = 1;
    writeNpy(join(folder, "u.npy"), u ? transpose(Float64Array.from(u), [rows, cols, n], [2, 0, 1])
        : cells, [1, n, rows, cols]);
    writeNpy(join(folder, "dy.npy"), new Float64Array(n * rows * cols), [1, n, rows, cols]);
    tool("layer", folder, "-o", join(folder, "out"), "--precision", precision);
    const read = (name) => readNpy(join(folder, "out", `${name}.npy`)).data;
    return { K: Float64Array.from(read("K")).subarray(0, rows * cols),
        y: transpose(read("y"), [n, rows, cols], [1, 2, 0]) };
}

/* The pixels of a canvas, read from a copy: Chromium has advice for pages that read a canvas often,
 * and it is the test that does. */
const pixelsOf = (canvas) => `{
    const from = document.getElementById(${JSON.stringify(canvas)});
    const copy = new OffscreenCanvas(from.width, from.height);
    const context = copy.getContext("2d", {willReadFrequently: true});
    context.drawImage(from, 0, 0);
    Array.from(context.getImageData(0, 0, from.width, from.height).data);
}`;

/* The colours of a canvas in the middle of each cell of rows x cols. */
async function colours(page, id, rows, cols) {
    const data = await page.evaluate(pixelsOf(id)), list = [];
    const width = await page.evaluate(`document.getElementById(${JSON.stringify(id)}).width`);
    const side = width / cols;
    for (let i = 0; i < rows; i++)
        for (let j = 0; j < cols; j++) {
            const at = 4 * (Math.floor((i + .5) * side) * width + Math.floor((j + .5) * side));
            list.push(data.slice(at, at + 3));
        }
    return list;
}

function sameColours(got, values, what) {
    const max = Math.max(...values.map(Math.abs));
    got.forEach((colour, k) => {
        const want = colourOf(values[k] / max, false);
        assert.ok(colour.every((x, c) => Math.abs(x - want[c]) <= 1),
            `${what}, cell ${k}: ${colour}, should be ${want}`);
    });
}

/* Systems to try: [radii, angles], norm, directions, size */
const SYSTEMS = [
    { r: [.95, .6, .4, .9, 1, .5, 1, 1], norm: "relaxed", directions: 1, size: 16 },
    { r: [.3, .7, .2, 1, 0, .4, -1.5, .5], norm: "half", directions: 4, size: 9 },
    { r: [.9, .1, .8, .2, .5, 1, 2, -2], norm: "paper", directions: 2, size: 12 },
    { r: [.97, .5, .5, .97, 1, 1, 1, 1], t: [.06, .02, .9, .1, 0, .3, 0, .5], norm: "relaxed",
        directions: 4, size: 11 },
    { r: [.5, .4, .3, .6, 1, 1, 1, 1], norm: "none", directions: 1, size: 6 },
];

function systemOf({ r, t, norm, directions, size }) {
    const at = (first, n) => r.slice(first, first + n).map((x, i) => ({ r: x, t: t?.[first + i] ?? 0 }));
    return { values: t ? "polar" : "real", norm, directions, size, a: at(0, 4), b: at(4, 2),
        c: at(6, 2) };
}

async function setSystem(page, s) {
    for (const name of ["values", "norm", "directions"]) await set(page, name, s[name]);
    for (const name of ["a", "b", "c"])
        for (const [i, x] of s[name].entries()) {
            await set(page, `slider-${name.toUpperCase()}${i + 1}`, x.r);
            if (s.values === "polar") await set(page, `slider--${i + 1}${name}`, x.t);
        }
    await set(page, "slider-Grid", s.size);
}

for (const [device, size] of Object.entries({ wide: { width: 1280, height: 900 },
    phone: { width: 390, height: 844 }, small: { width: 320, height: 568 } }))
    for (const theme of ["light", "dark"])
        test(`${device}, ${theme}: loads without a message, nothing is too wide`, { skip }, async () => {
            const page = await browser.openPage(url, { ...size, theme });
            assert.equal(await page.evaluate("document.documentElement.dataset.theme"), theme);
            for (const tab of TABS) {
                await showTab(page, tab);
                assert.equal(await page.evaluate("document.getElementById('problem').hidden"), true);
                if (tab === "recursion")
                    for (let k = 0; k < 9; k++) await click(page, "step");
                await keep(page, `${device}-${theme}-${tab}`);
                const over = await page.evaluate(`Array.from(document.querySelectorAll("main *"))
                    .filter((e) => !e.closest("svg, pre, .steps") && !e.closest("input, .bar")
                        && e.getBoundingClientRect().right > innerWidth + 1
                        && e.getClientRects().length).map((e) => e.outerHTML.slice(0, 80))`);
                assert.deepEqual(over, []);
            }
            await page.evaluate("location.hash = 'recursion'");
            await page.evaluate("document.querySelector('[value=paths]').click()");
            for (let k = 0; k < 4; k++) await click(page, "step");
            await keep(page, `${device}-${theme}-paths`);
            assert.deepEqual(page.messages, []);
            await page.close();
        });

test("the sliders draw the kernel and the response of the C library", { skip }, async () => {
    const page = await browser.openPage(url, wide);
    for (const [k, given] of SYSTEMS.entries()) {
        const s = systemOf(given), n = s.size, side = 2 * n - 1;
        await setSystem(page, s);
        sameColours(await colours(page, "kernel-picture", n, n), native(s, n, n).K, `kernel ${k}`);
        sameColours(await colours(page, "response-picture", side, side),
            native(s, side, side).y, `response ${k}`);
    }
    // every slider changes the picture
    await setSystem(page, systemOf(SYSTEMS[3]));
    const shot = () => page.evaluate("document.getElementById('kernel-picture').toDataURL()");
    const ids = await page.evaluate(`Array.from(document.querySelectorAll("#sliders input"),
        (e) => [e.id, e.value])`);
    assert.equal(ids.length, 16);
    for (const [id, value] of ids) {
        const first = await shot();
        await set(page, id, value === "1" ? 0.5 : Number(value) / 2 + 0.3);
        assert.notEqual(await shot(), first, id);
    }
    assert.deepEqual(page.messages, []);
    await page.close();
});

test("every preset draws, and is what it says", { skip }, async () => {
    const page = await browser.openPage(url, wide);
    const count = await page.evaluate("document.getElementById('preset').options.length");
    const kernel = () => page.evaluate("document.getElementById('kernel-text').textContent");
    const seen = new Set();
    for (let k = 0; k < count; k++) {
        await set(page, "preset", k);
        seen.add(await page.evaluate("document.getElementById('kernel-picture').toDataURL()"));
        if (/Pascal/.test(await text(page, "preset"))) await keep(page, "preset-pascal");
        if (k === 5) assert.match(await kernel(), /largest size is 70 \(5 x 5/);
        if (k >= count - 2) await keep(page, `preset-${k}`);
    }
    assert.equal(seen.size, count);
    assert.deepEqual(page.messages, []);
    await page.close();
});

test("the programs print the kernel", { skip }, async (t) => {
    const page = await browser.openPage(url, wide), library = join(root, "build/release/src");
    const package_ = temporary("node_modules");
    mkdirSync(package_);
    symlinkSync(join(root, "build/js/package"), join(package_, "ssm2d"));
    const hasPython = spawnSync("python3", ["-c", "import numpy"]).status === 0;
    if (!hasPython) t.diagnostic("SKIPPED: the Python program: numpy is not installed");
    for (const given of [SYSTEMS[1], SYSTEMS[3]]) {
        const s = systemOf(given);
        await setSystem(page, s);
        const want = native(s, s.size, s.size).K;
        const run = { async C(path) {
            const program = temporary("kernel");
            const made = spawnSync("cc", ["-Wall", "-Wextra", "-Werror", path, `-I${root}/include`,
                `-L${library}`, `-Wl,-rpath,${library}`, "-lssm2d", "-o", program], { encoding: "utf8" });
            assert.equal(made.status, 0, made.stderr);
            return [program];
        }, Python: (path) => ["python3", path], JavaScript: (path) => ["node", path] };
        for (const [language, name] of [["C", "kernel.c"], ["Python", "kernel.py"],
            ["JavaScript", "kernel.mjs"]]) {
            if (language === "Python" && !hasPython) continue;
            await page.evaluate(`document.querySelector("[data-language=${language}]").click()`);
            await page.until("document.getElementById('copied').textContent");
            const path = temporary(name);
            writeFileSync(path, await page.evaluate("document.getElementById('program').textContent"));
            const [command, ...words] = await run[language](path);
            const done = spawnSync(command, words, { encoding: "utf8", env: { ...process.env,
                PYTHONPATH: join(root, "python"), SSM2D_LIBRARY: join(library, "libssm2d.so") } });
            assert.equal(done.status, 0, done.stderr);
            const got = done.stdout.trim().split(/\s+/).map(Number);
            assert.ok(difference(got, want) < 1e-8, language);
        }
    }
    await page.close();
});

test("the recursion: cells and sums over paths are the library's kernel", { skip }, async () => {
    const page = await browser.openPage(`${url}#recursion`, wide);
    for (const given of SYSTEMS) {
        const s = systemOf(given), K = native(s, 5, 5).K;
        await page.evaluate("location.hash = 'kernel'");
        await setSystem(page, s);
        await page.evaluate("location.hash = 'recursion'");
        await page.evaluate("document.querySelector('[value=cells]').click()");
        for (let k = 0; k < 25; k++) {
            await click(page, "step");
            const said = Number(/= (\S+)(?:\n+The 1\/2.*)?$/.exec((await text(page, "steps")).trim())[1]);
            assert.ok(Math.abs(said - K[k]) <= 0.006 * Math.abs(K[k]) + 1e-12, `cell ${k}: ${said}, ${K[k]}`);
        }
        await page.evaluate("document.querySelector('[value=paths]').click()");
        for (const [i, j, count] of [[2, 3, 10], [0, 2, 1], [0, 0, 1], [3, 1, 4]]) {
            await set(page, "target-row", i);
            await set(page, "target-col", j);
            for (let k = 0; k < count; k++) await click(page, "step");
            const [, sum, said] = /all paths is (\S+); the library's K\[\d,\d\] is (\S+)\./.exec(
                await text(page, "steps"));
            assert.equal(sum, said, `(${i},${j}) ${JSON.stringify(given)}`);
            assert.ok(Math.abs(Number(said) - K[5 * i + j]) <= 0.006 * Math.abs(K[5 * i + j]) + 1e-12);
        }
    }
    await set(page, "slider-Speed-steps-per-second-", 10);
    await click(page, "play");
    await page.until("document.getElementById('play').textContent === 'Play'");
    assert.deepEqual(page.messages, []);
    await page.close();
});

test("the filter is the layer's, row by row", { skip }, async () => {
    const page = await browser.openPage(url, wide);
    const pixels = (id) => page.evaluate(pixelsOf(id));
    for (const directions of [2, 1]) {
        const s = { ...systemOf(SYSTEMS[0]), directions };
        await showTab(page, "filter");
        await set(page, "filter-directions", directions);
        await page.until("/rows of/.test(document.getElementById('filter-text').textContent)");
        const [from, to] = [await pixels("filter-in"), await pixels("filter-out")];
        const u = from.filter((_, k) => k % 4 !== 3);
        const { y } = native(s, 240, 320, { channels: 3, ...(directions === 2 ? { pair: "columns" }
            : {}) }, u, "float");
        const sum = directions * native(s, 32, 32).K.reduce((a, x) => a + x, 0);
        const got = to.filter((_, k) => k % 4 !== 3);
        got.forEach((x, k) => assert.ok(Math.abs(x - Math.min(255, Math.max(0, y[k] / sum))) <= 1,
            `pixel ${k}: ${x}, ${y[k] / sum}`));
    }
    await click(page, "camera");
    await page.until("/pixels in .* ms/.test(document.getElementById('filter-text').textContent)");
    await keep(page, "camera");
    await click(page, "camera");
    assert.equal(await page.evaluate("document.getElementById('camera').getAttribute('aria-pressed')"),
        "false");
    assert.deepEqual(page.messages, []);
    await page.close();
});

test("the classifier's probabilities are those of ssm2d predict", { skip }, async (t) => {
    const page = await browser.openPage(`${url}#classify`, wide);
    await showTab(page, "classify");
    const names = await page.evaluate("Array.from(document.getElementById('model').options, (o) => o.text)");
    const found = readdirSync(models).sort();
    assert.deepEqual(names, found.map((name) => basename(name, ".ssm2d")));
    for (const [m, name] of found.entries()) {
        await set(page, "model", m);
        const examples = await page.evaluate("document.querySelectorAll('#examples button').length");
        assert.ok(examples >= 3);
        for (let e = 0; e < examples; e++) {
            await page.evaluate(`document.getElementById("ranking").replaceChildren();
                document.querySelectorAll("#examples button")[${e}].click()`);
            await page.until("document.querySelectorAll('#ranking li').length > 1");
            const shown = await page.evaluate(`Array.from(document.querySelectorAll("#ranking li"),
                (e) => [e.dataset.name, Number(e.dataset.probability)])`);
            const data = await page.evaluate(pixelsOf("drawing"));
            const path = temporary("drawing.bmp");
            writeBmp(path, { data: data.filter((_, k) => k % 4 !== 3), width: 280, height: 280 });
            const { classes } = JSON.parse(tool("predict", join(models, name), path, "--json",
                "--top", String(shown.length)));
            assert.deepEqual(shown.map(([n]) => n), classes.map((c) => c.name));
            shown.forEach(([, p], k) => assert.ok(Math.abs(p - classes[k].probability) < 1e-6,
                `${p} ${classes[k].probability}`));
            const label = await page.evaluate(`document.querySelectorAll("#examples button")[${e}].innerText`);
            t.diagnostic(`${name}: ${label} is ${shown[0][0]}, ${(100 * shown[0][1]).toFixed(0)} %`);
        }
        await keep(page, `model-${names[m]}`);
    }
    // a stroke of the pen changes the probabilities
    const before_ = await text(page, "ranking");
    const box = await page.evaluate(`{ const b = document.getElementById("drawing").getBoundingClientRect();
        [b.left, b.top]; }`);
    for (const [type, at] of [["mousePressed", 40], ["mouseMoved", 200], ["mouseReleased", 200]])
        await page.call("Input.dispatchMouseEvent", { type, x: box[0] + at, y: box[1] + at,
            button: "left", buttons: 1, clickCount: 1 });
    await page.until(`document.getElementById("ranking").innerText !== ${JSON.stringify(before_)}`);
    assert.deepEqual(page.messages, []);
    await page.close();
});

test("a page without models says so, and opens one", { skip }, async () => {
    const page = await browser.openPage(`${pathToFileURL(bare).href}#classify`, wide);
    assert.match(await text(page, "no-models"), /No trained model/);
    assert.equal(await page.evaluate("document.getElementById('classify-parts').hidden"), true);
    const { root: { nodeId } } = await page.call("DOM.getDocument");
    const input = await page.call("DOM.querySelector", { nodeId, selector: "#model-file" });
    const run = join(root, "tests/golden-runs/0.1");
    await page.call("DOM.setFileInputFiles", { nodeId: input.nodeId, files: ["train.json",
        "config.json", "data.json", "best.safetensors"].map((name) => join(run, name)) });
    await page.until("document.querySelectorAll('#ranking li').length > 1");
    await keep(page, "opened-model");
    assert.deepEqual(page.messages, []);
    await page.close();
});

/* WCAG's contrast of two colours */
function contrast(a, b) {
    const light = (hex) => {
        const full = hex.length === 4 ? hex.replace(/[0-9a-f]/g, "$&$&") : hex;
        const [r, g, blue] = [1, 3, 5].map((k) => parseInt(full.slice(k, k + 2), 16) / 255)
            .map((x) => x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * blue + 0.05;
    };
    const [x, y] = [light(a), light(b)];
    return Math.max(x, y) / Math.min(x, y);
}

test("labels, keyboard and contrast", { skip }, async () => {
    const page = await browser.openPage(url, wide);
    for (const tab of TABS) {
        await showTab(page, tab);
        const { nodes } = await page.call("Accessibility.getFullAXTree");
        const roles = ["button", "slider", "combobox", "radio", "tab", "tabpanel", "image", "listbox"];
        const unnamed = nodes.filter((n) => !n.ignored && roles.includes(n.role?.value)
            && !n.name?.value);
        assert.deepEqual(unnamed.map((n) => [n.role.value, n.backendDOMNodeId]), [], tab);
    }
    await page.evaluate("location.hash = 'kernel'");
    await page.until("!document.getElementById('kernel').hidden");
    const press = async (key) => {
        for (const type of ["keyDown", "keyUp"])
            await page.call("Input.dispatchKeyEvent", { type, key, code: key,
                windowsVirtualKeyCode: { ArrowRight: 39, ArrowDown: 40 }[key] });
    };
    await page.evaluate("document.getElementById('tab-kernel').focus()");
    await press("ArrowRight");
    await page.until("!document.getElementById('recursion').hidden");
    await page.evaluate("location.hash = 'kernel'");
    await page.until("!document.getElementById('kernel').hidden");
    await page.evaluate("document.getElementById('kernel-picture').focus()");
    await press("ArrowRight");
    await press("ArrowDown");
    assert.match(await text(page, "kernel-text"), /^K\[1,1\]/);
    await page.evaluate("document.getElementById('slider-A1').focus()");
    const a1 = () => page.evaluate("document.getElementById('slider-A1').value");
    const value = Number(await a1());
    await press("ArrowRight");
    assert.ok(Math.abs(Number(await a1()) - value - 0.01) < 1e-9);
    for (const theme of ["light", "dark"]) {
        if (await page.evaluate("document.documentElement.dataset.theme") !== theme)
            await click(page, "theme");
        const c = await page.evaluate(`Object.fromEntries(["page", "card", "ink", "soft", "accent",
            "on-accent", "hot", "bar", "bad", "bad-back"].map((n) => [n,
            getComputedStyle(document.documentElement).getPropertyValue("--" + n).trim()]))`);
        for (const [front, back] of [["ink", "page"], ["ink", "card"], ["soft", "page"],
            ["soft", "card"], ["on-accent", "accent"], ["ink", "bar"], ["bad", "bad-back"],
            ["hot", "card"]])
            assert.ok(contrast(c[front], c[back]) >= 4.5, `${theme}: ${front} on ${back}: ${
                contrast(c[front], c[back])}`);
    }
    await page.close();
});

test("the page loads nothing", () => {
    const page = readFileSync(file, "utf8").replace(/<script type="(?!module).*?<\/script>/gs, "");
    assert.doesNotMatch(page, /<(link|img|iframe)|<script[^>]* src|@import|url\((?!#)/); // #: a mark of its own
});
