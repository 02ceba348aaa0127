/* The tab Kernel: sliders of the coefficients, the kernel and the impulse response. */
import { $, drawHeat, drawScale, element, guarded, largest, short, slider } from "./common.js";
import { applyPreset, kernelOf, onSystem, presets, responseOf, system, systemChanged }
    from "./system.js";
import { programs } from "./programs.js";

const MEANING = {
    a: ["h to h: right after right", "v to h: right after down", "h to v: down after right",
        "v to v: down after down"],
    b: ["input into h", "input into v"], c: ["output of h", "output of v"],
};

/* What is drawn in a canvas: {values, rows, cols, name, text, origin, at} */
const pictures = new Map();

function describe(picture) {
    const { values, rows, cols, origin, at, name, max } = picture;
    const [i, j] = at;
    return `${name}[${i - origin},${j - origin}] = ${short(values[i * cols + j])}; `
        + `the largest size is ${short(max)} (${rows} x ${cols} cells)`;
}

function watchCells(canvas, text) {
    const show = (at) => {
        const p = pictures.get(canvas);
        p.at = [Math.min(Math.max(at[0], 0), p.rows - 1), Math.min(Math.max(at[1], 0), p.cols - 1)];
        text.textContent = describe(p);
    };
    canvas.addEventListener("pointermove", (event) => {
        const p = pictures.get(canvas), box = canvas.getBoundingClientRect();
        show([Math.floor((event.clientY - box.top) / box.height * p.rows),
            Math.floor((event.clientX - box.left) / box.width * p.cols)]);
    });
    canvas.addEventListener("keydown", (event) => {
        const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[
            event.key];
        if (!step) return;
        event.preventDefault();
        const { at } = pictures.get(canvas);
        show([at[0] + step[0], at[1] + step[1]]);
    });
}

function drawPicture(prefix, values, side, name, origin) {
    const canvas = $(`${prefix}-picture`), max = largest(values);
    const at = [origin, origin];
    const p = { values, rows: side, cols: side, name, origin, at, max };
    pictures.set(canvas, p);
    drawHeat(canvas, values, side, side, max);
    drawScale($(`${prefix}-scale`), max);
    canvas.setAttribute("aria-label", `${name}, a heat map of ${side} by ${side} cells`);
    $(`${prefix}-text`).textContent = describe(p);
}

function formulaText() {
    const g = { none: "", half: "1/2 ", relaxed: "g ", paper: "g " }[system.norm];
    const lines = [`h[i,j] = ${g}(a1 h[i,j-1] + a2 v[i,j-1])      v[i,j] = ${g}(a3 h[i-1,j] + a4 v[i-1,j])`,
        `K[i,j] = ${system.norm === "paper" ? "m " : ""}${system.values === "polar"
            ? "Re(c1 h[i,j] + c2 v[i,j])" : "c1 h[i,j] + c2 v[i,j]"}`
        + "      from h[0,0] = b1, v[0,0] = b2"];
    if (g === "g ") lines.push("g = 1 in the first row and column, else 1/2"
        + (system.norm === "paper" ? "; m = 2 there, else 1" : ""));
    return lines.join("\n");
}

let language = "C";

export function startKernel(ssm2d) {
    const sliders = [];
    const group = (name, min) => {
        const root = element("div", { class: "group" });
        system[name].forEach((x, i) => {
            const label = `${name.toUpperCase()}${i + 1}`, meaning = MEANING[name][i];
            const change = (key) => (value) => {
                system[name][i][key] = value;
                systemChanged();
            };
            const radius = slider({ label, title: `${label}: ${meaning}`, min, max: min ? 2 : 1,
                step: 0.01, value: x.r, oninput: change("r") });
            const angle = slider({ label: `∠${i + 1}${name}`, title: `Angle of ${label}, in turns`,
                min: 0, max: 1, step: 0.01, value: x.t, oninput: change("t") });
            angle.root.firstChild.textContent = "angle";
            sliders.push({ x, radius, angle });
            root.append(radius.root, angle.root);
        });
        $("sliders").append(root);
    };
    group("a", 0);
    group("b", 0);
    group("c", -2);
    const size = slider({ label: "Grid", title: "Rows and columns of the kernel", min: 4, max: 48,
        step: 1, value: system.size, oninput(value) {
            system.size = value;
            systemChanged();
        } });
    $("size-slider").append(size.root);
    for (const [i, p] of presets.entries())
        $("preset").append(element("option", { value: i, text: p.name }));
    $("preset").addEventListener("change", () => {
        const p = presets[$("preset").value];
        guarded(() => applyPreset(ssm2d, p));
        $("preset-note").textContent = p.note;
    });
    $("preset-note").textContent = presets[0].note;
    for (const name of ["values", "norm", "directions"])
        $(name).addEventListener("change", () => {
            system[name] = name === "directions" ? Number($(name).value) : $(name).value;
            systemChanged();
        });

    const draw = () => guarded(() => {
        for (const { x, radius, angle } of sliders) {
            radius.set(x.r);
            angle.set(x.t);
            angle.root.hidden = system.values === "real";
        }
        size.set(system.size);
        for (const name of ["values", "norm", "directions"]) $(name).value = system[name];
        const n = system.size;
        drawPicture("kernel", kernelOf(ssm2d, system, n, n), n, "K", 0);
        drawPicture("response", responseOf(ssm2d, system, n), 2 * n - 1, "y", n - 1);
        $("formula").textContent = formulaText();
        $("program").textContent = programs[language](system);
    });
    watchCells($("kernel-picture"), $("kernel-text"));
    watchCells($("response-picture"), $("response-text"));
    for (const button of document.querySelectorAll(".copy"))
        button.addEventListener("click", async () => {
            language = button.dataset.language;
            $("program").textContent = programs[language](system);
            try {
                await navigator.clipboard.writeText($("program").textContent);
                $("copied").textContent = `Copied the ${language} program.`;
            } catch { // a page from a file may not use the clipboard
                document.querySelector("details").open = true;
                getSelection().selectAllChildren($("program"));
                $("copied").textContent = "The browser does not let this page copy: the program is "
                    + "selected below.";
            }
        });
    onSystem(draw);
    draw();
    return draw;
}
