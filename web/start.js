/* Starts the page: theme, tabs, the library and the four parts. */
import { load, hasSimd } from "../js/ssm2d.js";
import { $, showProblem } from "./common.js";
import { startKernel } from "./kernel.js";
import { startRecursion } from "./recursion.js";
import { startFilter } from "./filter.js";
import { bytesOf, startClassify } from "./classify.js";

const TABS = ["kernel", "recursion", "filter", "classify"];
const shows = {};

function setTheme(theme) {
    document.documentElement.dataset.theme = theme;
    $("theme").textContent = theme === "dark" ? "Light" : "Dark";
    $("theme").setAttribute("aria-label", `Switch to ${theme === "dark" ? "light" : "dark"} colours`);
    for (const show of Object.values(shows)) show();
}

function showTab(name) {
    for (const tab of TABS) {
        const chosen = tab === name;
        $(tab).hidden = !chosen;
        $(`tab-${tab}`).setAttribute("aria-selected", chosen);
        $(`tab-${tab}`).tabIndex = chosen ? 0 : -1;
    }
    $("problem").hidden = true;
    shows[name]?.();
}

function startTabs() {
    for (const [i, tab] of TABS.entries()) {
        $(`tab-${tab}`).addEventListener("click", () => { location.hash = tab; });
        $(`tab-${tab}`).addEventListener("keydown", (event) => {
            const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
            if (!step) return;
            const next = TABS[(i + step + TABS.length) % TABS.length];
            location.hash = next;
            $(`tab-${next}`).focus();
        });
    }
    const follow = () => showTab(TABS.find((tab) => `#${tab}` === location.hash) ?? "kernel");
    addEventListener("hashchange", follow);
    follow();
}

async function start() {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    setTheme(dark.matches ? "dark" : "light");
    dark.addEventListener("change", () => setTheme(dark.matches ? "dark" : "light"));
    $("theme").addEventListener("click", () =>
        setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
    const simd = hasSimd();
    const ssm2d = await load({ simd,
        wasm: bytesOf($(simd ? "module-simd" : "module-baseline").textContent) });
    const models = JSON.parse($("models").textContent);
    // of the tabs, only the one that is shown draws itself
    const visible = (name, draw) => { shows[name] = () => $(name).hidden || draw(); };
    visible("kernel", startKernel(ssm2d));
    visible("recursion", startRecursion(ssm2d));
    visible("filter", startFilter(ssm2d));
    visible("classify", startClassify(ssm2d, models));
    startTabs();
    $("about").textContent = `ssm2d ${ssm2d.version}, MIT licence; WebAssembly `
        + `${simd ? "with SIMD128" : "without SIMD"}, one thread.`;
    document.documentElement.dataset.ready = "true";
}

start().catch(showProblem);
