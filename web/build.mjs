/* build.mjs [MODELS [FILE]] - puts the page together: one file that works from a file:// address, with
 * styles, scripts, the modules of build/js/package and the models of the folder MODELS (by default
 * models): NAME.ssm2d, or folders NAME of runs. FILE: by default build/web/index.html. */
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const web = fileURLToPath(new URL(".", import.meta.url)), root = join(web, "..");
const made = join(root, "build/js/package");
const [models = join(root, "models"), out = join(root, "build/web/index.html")] =
    process.argv.slice(2);

/* Modules in the order of their imports. Scripts of a page from a file cannot import each other, so
 * that they become one script without the lines of import and export; their names at the top are
 * different, or else the browser refuses the script. */
const SCRIPTS = [join(made, "runtime.js"), join(made, "ssm2d.js"), ...["common.js", "system.js",
    "programs.js", "kernel.js", "recursion.js", "filter.js", "classify.js", "start.js"].map((name) =>
    join(web, name))];

function scriptOf(path) {
    return readFileSync(path, "utf8")
        .replace(/^import [^;]* from "\.[^"]*";\n/gm, "")
        .replace(/^export default createRuntime;$/m, "")
        .replace(/^export (?=(async )?(function|class|const))/gm, "")
        .replaceAll("</script", "<\\/script");
}

const base64 = (path) => readFileSync(path).toString("base64");

/* What the library reads of a run's folder; the weights of the best epoch, if there are any. */
function readRun(folder) {
    const weights = ["best.safetensors", "model.safetensors"].find((name) =>
        existsSync(join(folder, name)));
    if (!weights || !existsSync(join(folder, "train.json"))) return null;
    return Object.fromEntries(["train.json", "config.json", "data.json", weights].map((name) =>
        [name, base64(join(folder, name))]));
}

function readModels(folder) {
    if (!existsSync(folder)) return [];
    return readdirSync(folder).sort().flatMap((name) => {
        const path = join(folder, name), title = basename(name, ".ssm2d");
        if (name.endsWith(".ssm2d")) return [{ name: title, file: base64(path) }];
        const files = statSync(path).isDirectory() ? readRun(path) : null;
        return files ? [{ name: title, files }] : [];
    });
}

const found = readModels(models);
const data = ["simd", "baseline"].map((name) => `<script type="text/plain" id="module-${name}">`
    + `${base64(join(made, `ssm2d-${name}.wasm`))}</script>\n`).join("")
    + `<script type="application/json" id="models">${JSON.stringify(found)
        .replaceAll("<", "\\u003c")}</script>`;
const parts = { "/*STYLE*/": readFileSync(join(web, "page.css"), "utf8"), "<!--DATA-->": data,
    "/*SCRIPT*/": SCRIPTS.map(scriptOf).join("\n") };
let page = readFileSync(join(web, "page.html"), "utf8");
for (const [place, text] of Object.entries(parts)) page = page.replace(place, () => text);
mkdirSync(dirname(out), { recursive: true });
writeFileSync(out, page);
const list = found.length ? found.map(({ name }) => name).join(", ") : `none in ${models}`;
console.log(`${out}: ${(page.length / 1e6).toFixed(1)} MB, models: ${list}`);
