/* The tab Recursion: the kernel cell by cell, and as a sum over lattice paths. Values of cells are
 * the library's; the weights of paths are computed here, from the coefficients. */
import { $, colourOf, element, guarded, isDark, largest, short, slider } from "./common.js";
import { kernelOf, onSystem, setSystem, system } from "./system.js";

/* ---- complex numbers, [re, im] ------------------------------------------------------------------ */

/* Angles stay where the sliders were when the values become real. */
const complex = ({ r, t }) => system.values === "polar"
    ? [r * Math.cos(2 * Math.PI * t), r * Math.sin(2 * Math.PI * t)] : [r, 0];
const plus = (x, y) => [x[0] + y[0], x[1] + y[1]];
const times = (x, y) => [x[0] * y[0] - x[1] * y[1], x[0] * y[1] + x[1] * y[0]];
const scaled = (x, f) => [x[0] * f, x[1] * f];

function shown([re, im]) {
    if (Math.abs(im) < 1e-12) return short(re);
    return `(${short(re)}${im < 0 ? "-" : "+"}${short(Math.abs(im))}i)`;
}

/* ---- the mathematics ---------------------------------------------------------------------------- */

/** The factor g of a step into cell (i,j), and m of the output there. */
export const stepFactor = (norm, i, j) =>
    norm === "none" ? 1 : norm === "half" ? 0.5 : i === 0 || j === 0 ? 1 : 0.5;
export const outputFactor = (norm, i, j) => norm === "paper" && (i === 0 || j === 0) ? 2 : 1;

/** All paths from (0,0) to (i,j), as strings of R (right) and D (down). */
export function pathsTo(i, j) {
    if (i === 0 && j === 0) return [""];
    const right = j ? pathsTo(i, j - 1).map((p) => `${p}R`) : [];
    const down = i ? pathsTo(i - 1, j).map((p) => `${p}D`) : [];
    return [...right, ...down];
}

export function cellsOf(path) {
    const cells = [[0, 0]];
    for (const move of path) {
        const [i, j] = cells.at(-1);
        cells.push(move === "R" ? [i, j + 1] : [i + 1, j]);
    }
    return cells;
}

/** What a path adds to the kernel, and the factors of that product as words. */
export function pathWeight(s, path) {
    const a = s.a.map(complex), b = s.b.map(complex), c = s.c.map(complex), cells = cellsOf(path);
    const last = cells.at(-1), m = outputFactor(s.norm, ...last), text = [];
    if (!path) {
        const sum = plus(times(c[0], b[0]), times(c[1], b[1]));
        return { weight: scaled(sum, m)[0], text: "c1 b1 + c2 b2" };
    }
    const right = path[0] === "R";
    let weight = plus(times(a[right ? 0 : 2], b[0]), times(a[right ? 1 : 3], b[1]));
    text.push(right ? "(a1 b1 + a2 b2)" : "(a3 b1 + a4 b2)");
    for (let k = 0; k < path.length; k++) {
        if (k) {
            const which = path[k] === "R" ? (path[k - 1] === "R" ? 0 : 1)
                : path[k - 1] === "R" ? 2 : 3;
            weight = times(weight, a[which]);
            text.push(`a${which + 1}`);
        }
        const g = stepFactor(s.norm, ...cells[k + 1]);
        if (g !== 1) text.push("1/2");
        weight = scaled(weight, g);
    }
    const out = path.at(-1) === "R" ? 0 : 1;
    text.push(`c${out + 1}`);
    if (m !== 1) text.push("2");
    return { weight: scaled(times(weight, c[out]), m)[0], text: text.join(" · ") };
}

/** h and v of every cell, by the library: its kernels with C = (1, 0), (0, 1), and for the
 * imaginary parts with C turned by three quarters. */
function statesOf(ssm2d, n) {
    const norm = system.norm === "paper" ? "relaxed" : system.norm; // differs by m alone
    const part = (c1, c2, t) => kernelOf(ssm2d, { ...system, norm,
        c: [{ r: c1, t }, { r: c2, t }] }, n, n);
    const real = [part(1, 0, 0), part(0, 1, 0)];
    const imaginary = system.values === "polar" ? [part(1, 0, .75), part(0, 1, .75)] : null;
    return [0, 1].map((which) => Array.from({ length: n }, (_, i) => Array.from({ length: n },
        (_, j) => [real[which][i * n + j], imaginary ? imaginary[which][i * n + j] : 0])));
}

/* ---- drawing ------------------------------------------------------------------------------------ */

const CELL = 88, LEFT = 34, TOP = 30;
const centre = ([i, j]) => [LEFT + (j + 0.5) * CELL, TOP + (i + 0.5) * CELL];

const svg = (name, attributes, ...children) => element(name, { svg: true, ...attributes }, ...children);

const NOTES = {
    cells: "The corner cell gets the input. Each cell then makes its h from the cell to the left and "
        + "its v from the cell above; c1 and c2 mix them into K.",
    paths: "Unrolled, K[i,j] is a sum with one product for each path from the corner. A path picks up "
        + "a coefficient at every step, by the direction it comes from and goes to, and with the "
        + "norm relaxed one half for each step that does not stay on the border.",
};

export function startRecursion(ssm2d) {
    const state = { mode: "cells", n: 5, at: 0, target: [2, 3], timer: null };
    let values, h, v, paths;

    const speed = slider({ label: "Speed (steps per second)", min: 0.5, max: 10, step: 0.5,
        value: 1.5, long: true, oninput: () => state.timer && play() });
    $("speed-slider").append(speed.root);

    const steps = () => state.mode === "cells" ? state.n ** 2 : paths.length;

    function prepare() {
        const n = state.n;
        values = kernelOf(ssm2d, system, n, n);
        [h, v] = statesOf(ssm2d, n);
        paths = pathsTo(...state.target);
        state.at = Math.min(state.at, steps());
    }

    function square(i, j, fill, extra) {
        const [x, y] = centre([i, j]);
        return svg("rect", { x: x - CELL / 2, y: y - CELL / 2, width: CELL, height: CELL, fill,
            ...extra });
    }

    function label(i, j, lines, dark) {
        const [x, y] = centre([i, j]);
        return lines.map((text, k) => svg("text", { x, y: y + 5 + (k - (lines.length - 1) / 2) * 19,
            text, style: dark === undefined ? "" : `fill:${dark ? "#fff" : "#10151c"}` }));
    }

    const css = ([r, g, b]) => `rgb(${r} ${g} ${b})`;
    const isDeep = ([r, g, b]) => 0.3 * r + 0.6 * g + 0.1 * b < 140;

    function arrow([i, j], [k, l], text) {
        const [x1, y1] = centre([i, j]), [x2, y2] = centre([k, l]);
        const dx = Math.sign(x2 - x1), dy = Math.sign(y2 - y1), gap = CELL * 0.36;
        const from = [x1 + dx * gap, y1 + dy * gap], to = [x2 - dx * gap, y2 - dy * gap];
        return [svg("path", { class: "arrow", "marker-end": "url(#tip)",
            d: `M${from} L${to}` }),
        svg("text", { class: "arrow-text", x: (x1 + x2) / 2 + (dy ? 30 : 0),
            y: (y1 + y2) / 2 + (dx ? -26 : 4), text })];
    }

    function drawCells(parts) {
        const n = state.n, max = largest(values), done = state.at;
        for (let k = 0; k < n * n; k++) {
            const i = Math.floor(k / n), j = k % n, known = k < done;
            const colour = known ? colourOf(max ? values[k] / max : 0, isDark()) : null;
            parts.push(square(i, j, known ? css(colour) : "none",
                k === done - 1 ? { class: "now" } : {}));
            if (known) parts.push(...label(i, j, [short(values[k])], isDeep(colour)));
        }
        if (!done) return;
        const now = [Math.floor((done - 1) / n), (done - 1) % n], [i, j] = now;
        parts.push(square(i, j, "none", { class: "now" }));
        if (j) parts.push(...arrow([i, j - 1], now, "a1 h + a2 v"));
        if (i) parts.push(...arrow([i - 1, j], now, "a3 h + a4 v"));
    }

    function explainCell(k) {
        const n = state.n, i = Math.floor(k / n), j = k % n, g = stepFactor(system.norm, i, j);
        const a = system.a.map(complex), c = system.c.map(complex), half = g === 1 ? "" : "1/2 · ";
        const m = outputFactor(system.norm, i, j);
        const step = (to, from, x, y, p, q) => `${to}[${i},${j}] = ${half}(${from[0]}·${shown(x)} + `
            + `${from[1]}·${shown(y)}) = ${half}(${shown(p)}·${shown(x)} + ${shown(q)}·${shown(y)})`
            + ` = ${shown(to === "h" ? h[i][j] : v[i][j])}`;
        const lines = [];
        if (!k) lines.push(`h[0,0] = b1 = ${shown(h[0][0])}      v[0,0] = b2 = ${shown(v[0][0])}`);
        else {
            lines.push(j ? step("h", ["a1", "a2"], h[i][j - 1], v[i][j - 1], a[0], a[1])
                : `h[${i},0] = 0: nothing comes from the left`);
            lines.push(i ? step("v", ["a3", "a4"], h[i - 1][j], v[i - 1][j], a[2], a[3])
                : `v[0,${j}] = 0: nothing comes from above`);
        }
        lines.push(`K[${i},${j}] = ${m === 1 ? "" : "2 · "}${system.values === "polar" ? "Re" : ""}(`
            + `c1·h + c2·v) = ${m === 1 ? "" : "2 · "}${system.values === "polar" ? "Re" : ""}(`
            + `${shown(c[0])}·${shown(h[i][j])} + ${shown(c[1])}·${shown(v[i][j])}) = `
            + short(values[k]));
        if (half) lines.push("The 1/2 is there because two states meet: without it values would grow.");
        return lines;
    }

    function drawPaths(parts) {
        const n = state.n, visits = new Float64Array(n * n), seen = paths.slice(0, state.at);
        const weights = seen.map((p) => Math.abs(pathWeight(system, p).weight));
        const all = weights.reduce((x, y) => x + y, 0);
        seen.forEach((p, k) => cellsOf(p).forEach(([i, j]) => {
            visits[i * n + j] += all ? weights[k] / all : 1 / seen.length;
        }));
        for (let k = 0; k < n * n; k++) {
            const i = Math.floor(k / n), j = k % n, colour = colourOf(visits[k] * 0.6, isDark());
            const target = i === state.target[0] && j === state.target[1];
            parts.push(svg("g", { style: "cursor:pointer", onclick: () => aim([i, j]) },
                square(i, j, css(colour), {}),
                ...label(i, j, [`${i},${j}`], isDeep(colour))));
            if (target) parts.push(square(i, j, "none", { class: "now", "pointer-events": "none" }));
        }
        if (state.at) parts.push(svg("polyline", { class: "path", "marker-end": "url(#tip)",
            "pointer-events": "none",
            points: cellsOf(seen.at(-1)).map((cell) => centre(cell).join(",")).join(" ") }));
    }

    function explainPaths() {
        const [i, j] = state.target, total = values[i * state.n + j];
        const head = `${paths.length} path${paths.length > 1 ? "s" : ""} lead to (${i},${j}).`;
        if (!state.at) return [head];
        const sum = paths.slice(0, state.at).reduce((s, p) => s + pathWeight(system, p).weight, 0);
        const { weight, text } = pathWeight(system, paths[state.at - 1]);
        return [head, `Path ${state.at}: ${[...paths[state.at - 1]].map((m) =>
            m === "R" ? "right" : "down").join(" ") || "stays"}`, `${text} = ${short(weight)}`,
        `Sum so far: ${short(sum)}`, state.at === paths.length
            ? `The sum over all paths is ${short(sum)}; the library's K[${i},${j}] is ${short(total)}.`
            : ""];
    }

    function draw() {
        guarded(() => {
            prepare();
            const n = state.n, side = n * CELL, parts = [];
            const tip = svg("marker", { id: "tip", viewBox: "0 0 8 8", refX: 6, refY: 4,
                markerWidth: 5, markerHeight: 5, orient: "auto" },
            svg("path", { d: "M0 0 L8 4 L0 8 Z", style: "fill:var(--hot)" }));
            for (let k = 0; k < n; k++) {
                parts.push(svg("text", { class: "axis", x: centre([0, k])[0], y: 20, text: `j=${k}` }),
                    svg("text", { class: "axis", x: 14, y: centre([k, 0])[1] + 4, text: `i=${k}` }));
            }
            if (state.mode === "cells") drawCells(parts);
            else drawPaths(parts);
            $("lattice").setAttribute("viewBox", `0 0 ${LEFT + side + 4} ${TOP + side + 4}`);
            $("lattice").replaceChildren(svg("defs", {}, tip), ...parts);
            const lines = state.mode === "paths" ? explainPaths()
                : state.at ? explainCell(state.at - 1) : ["Press Play, or Step for the first cell."];
            $("steps").replaceChildren(...lines.map((text) => element("p", { text })));
            $("mode-note").textContent = NOTES[state.mode];
            for (const part of document.querySelectorAll(".paths-only"))
                part.hidden = state.mode === "cells";
            const all = [...system.a, ...system.b, ...system.c].map(complex).map(shown);
            $("recursion-system").textContent = `A = ${all.slice(0, 4).join(", ")}; B = `
                + `${all.slice(4, 6).join(", ")}; C = ${all.slice(6).join(", ")}; norm ${system.norm}.`;
        });
    }

    function stop() {
        clearInterval(state.timer);
        state.timer = null;
        $("play").textContent = "Play";
    }

    function advance() {
        if (state.at >= steps()) return stop();
        state.at++;
        draw();
        return undefined;
    }

    function play() {
        clearInterval(state.timer);
        state.timer = setInterval(advance, 1000 / speed.get());
        $("play").textContent = "Pause";
    }

    function restart() {
        stop();
        state.at = 0;
        draw();
    }

    function aim(target) {
        state.target = target;
        $("target-row").value = target[0];
        $("target-col").value = target[1];
        restart();
    }

    function fillTargets() {
        for (const id of ["target-row", "target-col"])
            $(id).replaceChildren(...Array.from({ length: state.n }, (_, k) =>
                element("option", { value: k, text: k })));
        aim(state.target.map((x) => Math.min(x, state.n - 1)));
    }

    $("play").addEventListener("click", () => {
        if (state.timer) return stop();
        if (state.at >= steps()) state.at = 0;
        advance();
        return play();
    });
    $("step").addEventListener("click", () => {
        stop();
        if (state.at >= steps()) state.at = 0;
        advance();
    });
    $("restart").addEventListener("click", restart);
    for (const radio of document.querySelectorAll("[name=mode]"))
        radio.addEventListener("change", () => {
            state.mode = radio.value;
            restart();
        });
    $("grid-side").addEventListener("change", () => {
        state.n = Number($("grid-side").value);
        fillTargets();
    });
    for (const id of ["target-row", "target-col"])
        $(id).addEventListener("change", () =>
            aim([Number($("target-row").value), Number($("target-col").value)]));
    const ones = [1, 1, 1, 1, 1, 0, 1, 1];
    $("count-paths").addEventListener("click", () => setSystem(ones, null, { norm: "none" }));
    $("halves").addEventListener("click", () => setSystem(ones, null, { norm: "relaxed" }));
    onSystem(draw);
    fillTargets();
    return draw;
}
