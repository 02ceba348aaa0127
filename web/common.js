/* What the parts of the page share: elements, sliders, colours and heat maps. */

export const $ = (id) => document.getElementById(id);

/** An element with attributes; text and handlers are attributes too. */
export function element(name, attributes = {}, ...children) {
    const made = name === "svg" || attributes.svg
        ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
        if (key === "svg") continue;
        if (key === "text") made.textContent = value;
        else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
        else made.setAttribute(key, value);
    }
    made.append(...children);
    return made;
}

export function showProblem(error) {
    $("problem").textContent = error.message ?? String(error);
    $("problem").hidden = false;
}

/** Runs body and shows its error instead of throwing it. */
export function guarded(body) {
    try {
        $("problem").hidden = true;
        return body();
    } catch (error) {
        showProblem(error);
        return undefined;
    }
}

/** A number with three significant digits. */
export function short(x) {
    if (x === 0 || !Number.isFinite(x)) return String(x);
    const size = Math.abs(x);
    if (size >= 1e5 || size < 1e-3) return x.toExponential(1).replace("e+", "e");
    return String(Number(x.toPrecision(3)));
}

/** A labelled slider: {root, get(), set(value)}; long: for labels that are words. */
export function slider({ label, title, min, max, step, value, long, oninput }) {
    const id = `slider-${label.replace(/\W+/g, "-")}`;
    const output = element("output", { for: id });
    const input = element("input", { type: "range", id, min, max, step, value, title: title ?? label,
        oninput: () => {
            output.textContent = input.value;
            oninput?.(Number(input.value));
        } });
    output.textContent = input.value;
    const root = element("div", { class: long ? "slider long" : "slider" },
        element("label", { for: id, text: label, title: title ?? label }), input, output);
    return { root, get: () => Number(input.value), set(v) {
        input.value = v;
        output.textContent = input.value;
    } };
}

/* ---- colours ------------------------------------------------------------------------------------ */

const LIGHT = { zero: [247, 247, 247], plus: [[239, 138, 98], [150, 10, 30]],
    minus: [[103, 169, 207], [8, 58, 120]] };
const DARK = { zero: [34, 42, 54], plus: [[208, 92, 62], [255, 206, 160]],
    minus: [[58, 120, 180], [180, 222, 255]] };

const mix = (a, b, t) => a.map((x, i) => Math.round(x + (b[i] - x) * t));

/** The colour of a value from -1 to 1: blue, nothing, red. */
export function colourOf(value, dark) {
    const map = dark ? DARK : LIGHT, [middle, end] = value < 0 ? map.minus : map.plus;
    const size = Math.min(Math.abs(value), 1);
    return size < 0.5 ? mix(map.zero, middle, 2 * size) : mix(middle, end, 2 * size - 1);
}

export const isDark = () => document.documentElement.dataset.theme === "dark";

const css = ([r, g, b]) => `rgb(${r} ${g} ${b})`;

/** Draws values[rows][cols] as squares, coloured between -max and max. */
export function drawHeat(canvas, values, rows, cols, max) {
    const side = Math.max(1, Math.floor(560 / Math.max(rows, cols)));
    canvas.width = cols * side;
    canvas.height = rows * side;
    const c = canvas.getContext("2d"), dark = isDark();
    for (let i = 0; i < rows; i++)
        for (let j = 0; j < cols; j++) {
            c.fillStyle = css(colourOf(max ? values[i * cols + j] / max : 0, dark));
            c.fillRect(j * side, i * side, side, side);
        }
}

export function drawScale(root, max) {
    const canvas = element("canvas", { width: 101, height: 1, "aria-hidden": "true" });
    const c = canvas.getContext("2d");
    for (let x = 0; x <= 100; x++) {
        c.fillStyle = css(colourOf(x / 50 - 1, isDark()));
        c.fillRect(x, 0, 1, 1);
    }
    root.replaceChildren(element("span", { text: short(-max) }), canvas,
        element("span", { text: short(max) }));
}

/** The largest size of a value. */
export const largest = (values) => values.reduce((m, x) => Math.max(m, Math.abs(x)), 0);

/* ---- pictures ----------------------------------------------------------------------------------- */

/** Scales source to at most `side` pixels and draws it into the canvas. */
export function fitInto(canvas, source, width, height, side) {
    const scale = Math.min(1, side / Math.max(width, height));
    canvas.width = Math.max(1, Math.round(width * scale));
    canvas.height = Math.max(1, Math.round(height * scale));
    canvas.getContext("2d", { willReadFrequently: true })
        .drawImage(source, 0, 0, canvas.width, canvas.height);
}

/** Calls use(bitmap) with a picture that is dropped on the element or chosen in the input. */
export function takePictures(drop, input, use) {
    const take = async (file) => {
        if (!file) return;
        try {
            use(await createImageBitmap(file));
        } catch {
            showProblem(new Error(`${file.name} is not a picture that this browser can read`));
        }
    };
    input.addEventListener("change", () => take(input.files[0]));
    drop.addEventListener("dragover", (event) => {
        event.preventDefault();
        drop.classList.add("dropping");
    });
    drop.addEventListener("dragleave", () => drop.classList.remove("dropping"));
    drop.addEventListener("drop", (event) => {
        event.preventDefault();
        drop.classList.remove("dropping");
        take(event.dataTransfer.files[0]);
    });
}
