/* The tab Classify: a drawing or a photo through a trained model, and the receptive field. */
import { $, colourOf, element, guarded, isDark, showProblem, takePictures } from "./common.js";

/* ---- examples ----------------------------------------------------------------------------------- */

/* Garments on black, as Fashion-MNIST has them: outlines in percent of the canvas. */
const GARMENTS = {
    "T-shirt": [[[30, 16], [42, 20], [58, 20], [70, 16], [90, 34], [80, 46], [71, 40], [71, 86],
        [29, 86], [29, 40], [20, 46], [10, 34]]],
    Trousers: [[[34, 8], [66, 8], [70, 92], [55, 92], [50, 34], [45, 92], [30, 92]]],
    Dress: [[[40, 6], [44, 14], [56, 14], [60, 6], [64, 34], [60, 48], [72, 94], [28, 94], [40, 48],
        [36, 34]]],
    Bag: [[[12, 42], [88, 42], [92, 86], [8, 86]], [[30, 42], [36, 20], [64, 20], [70, 42], [64, 42],
        [60, 27], [40, 27], [36, 42]]],
    Boot: [[[44, 10], [72, 10], [72, 60], [74, 88], [10, 88], [10, 76], [40, 60]]],
};

function fillShape(c, side, points, colour) {
    c.fillStyle = colour;
    c.beginPath();
    for (const [x, y] of points) c.lineTo(x / 100 * side, y / 100 * side);
    c.fill();
}

const gradient = (c, side, from, to) => {
    const colours = c.createLinearGradient(0, 0, 0, side);
    colours.addColorStop(0, from);
    colours.addColorStop(1, to);
    c.fillStyle = colours;
    c.fillRect(0, 0, side, side);
};

const SCENES = {
    Ship(c, side) {
        gradient(c, side, "#a9c8e6", "#e9eef2");
        c.fillStyle = "#2c5a86";
        c.fillRect(0, side * 0.66, side, side * 0.34);
        fillShape(c, side, [[10, 56], [92, 56], [82, 72], [22, 72]], "#7d2f2a");
        fillShape(c, side, [[34, 42], [72, 42], [72, 56], [34, 56]], "#eef0f0");
        fillShape(c, side, [[48, 26], [58, 26], [58, 42], [48, 42]], "#c9483a");
    },
    Airplane(c, side) {
        gradient(c, side, "#7db0e3", "#d5e6f5");
        fillShape(c, side, [[6, 46], [20, 42], [84, 42], [95, 48], [84, 54], [20, 54]], "#eceff2");
        fillShape(c, side, [[40, 50], [58, 50], [40, 80], [31, 80]], "#c3cad2");
        fillShape(c, side, [[44, 44], [57, 44], [45, 22], [38, 22]], "#c3cad2");
        fillShape(c, side, [[8, 44], [19, 43], [12, 24], [5, 24]], "#c0504a");
    },
    Car(c, side) {
        gradient(c, side, "#cfd8de", "#8d9296");
        fillShape(c, side, [[6, 56], [22, 52], [34, 34], [68, 34], [82, 52], [95, 56], [95, 74],
            [6, 74]], "#b3211c");
        fillShape(c, side, [[30, 51], [38, 39], [50, 39], [50, 51]], "#cfe2ee");
        fillShape(c, side, [[54, 51], [54, 39], [65, 39], [74, 51]], "#cfe2ee");
        for (const x of [0.26, 0.74]) {
            c.fillStyle = "#181818";
            c.beginPath();
            c.arc(side * x, side * 0.74, side * 0.09, 0, 2 * Math.PI);
            c.fill();
        }
    },
};

/* ---- models ------------------------------------------------------------------------------------- */

/** The bytes of base64 text. */
export function bytesOf(text) {
    const binary = atob(text);
    return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}

/** Opens {name, file} or {name, files} with base64 texts. */
function openEmbedded(ssm2d, { file, files }) {
    return ssm2d.openModel(file ? bytesOf(file)
        : Object.fromEntries(Object.entries(files).map(([name, text]) => [name, bytesOf(text)])));
}

export function startClassify(ssm2d, embedded) {
    const drawing = $("drawing"), side = drawing.width;
    const pen = drawing.getContext("2d", { willReadFrequently: true });
    let model = null, waiting = 0;

    const shades = () => model?.channels === 1;
    const background = () => shades() ? "#000" : "#e8edf2";
    const ink = () => $("brush").value === "eraser" ? background() : shades() ? "#fff" : "#b3211c";

    function clear() {
        pen.fillStyle = background();
        pen.fillRect(0, 0, side, side);
    }

    function showRanking(ranking) {
        $("ranking").replaceChildren(...ranking.slice(0, 5).map(({ name, probability }) =>
            element("li", { "data-name": name, "data-probability": probability },
                element("span", { class: "bar", style: `width:${100 * probability}%` }),
                element("span", { text: name }),
                element("span", { class: "number", text: `${(100 * probability).toFixed(1)} %` }))));
    }

    /* The image as the model reads it, without its normalisation. */
    function showSeen(image) {
        const { rows, cols, channels, preparation: { mean, std } } = model;
        const values = model.prepare(image), cells = rows * cols, canvas = $("seen");
        canvas.width = cols;
        canvas.height = rows;
        const pixels = canvas.getContext("2d").createImageData(cols, rows);
        for (let k = 0; k < cells; k++)
            for (let c = 0; c < 4; c++) {
                const from = channels === 1 ? 0 : c;
                pixels.data[4 * k + c] = c === 3 ? 255
                    : 255 * (values[from * cells + k] * std[from] + mean[from]);
            }
        canvas.getContext("2d").putImageData(pixels, 0, 0);
    }

    function showField(image) {
        const blocks = Number($("field-block").value), field = model.receptiveField(image, blocks);
        const { rows, cols, centre } = field, canvas = $("field"), size = 10;
        canvas.width = cols * size;
        canvas.height = rows * size;
        const c = canvas.getContext("2d");
        for (let k = 0; k < rows * cols; k++) {
            const [r, g, b] = colourOf(field.data[k], isDark());
            c.fillStyle = `rgb(${r} ${g} ${b})`;
            c.fillRect((k % cols) * size, Math.floor(k / cols) * size, size, size);
        }
        c.strokeStyle = isDark() ? "#6bb5f2" : "#0b62a8";
        c.lineWidth = 3;
        c.strokeRect(centre.col * size, centre.row * size, centre.cols * size, centre.rows * size);
        canvas.setAttribute("aria-label", `Receptive field of the centre patch, ${rows} by ${cols}`);
        $("field-text").textContent = `Half of the dependence lies within ${field.radius} pixels of `
            + "the centre.";
    }

    function run() {
        if (!model) return;
        guarded(() => {
            const image = pen.getImageData(0, 0, side, side), begin = performance.now();
            const { ranking } = model.classify(image), time = performance.now() - begin;
            showRanking(ranking);
            showSeen(image);
            showField(image);
            $("model-note").textContent = `${model.name} with ${model.mixer}: `
                + `${model.parameters.toLocaleString("en")} parameters, images of ${model.rows} x `
                + `${model.cols}, ${time.toFixed(0)} ms on this device. It knows: `
                + `${model.classes.join(", ")}.`;
        });
    }

    const soon = () => {
        cancelAnimationFrame(waiting);
        waiting = requestAnimationFrame(run);
    };

    function showExample(draw) {
        clear();
        draw();
        soon();
    }

    function offerExamples() {
        const buttons = shades()
            ? Object.entries(GARMENTS).map(([name, shapes]) => [name, () =>
                shapes.forEach((points) => fillShape(pen, side, points, "#cfcfcf"))])
            : Object.entries(SCENES).map(([name, draw]) => [name, () => draw(pen, side)]);
        $("examples").replaceChildren(...buttons.map(([name, draw]) =>
            element("button", { type: "button", text: name, onclick: () => showExample(draw) })));
        showExample(buttons[0][1]);
    }

    function choose(opened) {
        model?.free();
        model = opened;
        $("field-block").replaceChildren(...Array.from({ length: model.blocks }, (_, k) =>
            element("option", { value: k + 1, text: k + 1 })));
        $("field-block").value = model.blocks;
        offerExamples();
    }

    /* ---- drawing ---- */

    let last = null;
    const place = (event) => {
        const box = drawing.getBoundingClientRect();
        return [(event.clientX - box.left) / box.width * side,
            (event.clientY - box.top) / box.height * side];
    };
    const line = (to) => {
        pen.strokeStyle = ink();
        pen.lineWidth = side / 12;
        pen.lineCap = "round";
        pen.beginPath();
        pen.moveTo(...last);
        pen.lineTo(...to);
        pen.stroke();
        last = to;
        soon();
    };
    drawing.addEventListener("pointerdown", (event) => {
        drawing.setPointerCapture(event.pointerId);
        last = place(event);
        line(last);
    });
    drawing.addEventListener("pointermove", (event) => last && line(place(event)));
    for (const end of ["pointerup", "pointercancel"])
        drawing.addEventListener(end, () => { last = null; });
    $("clear").addEventListener("click", () => showExample(() => {}));

    takePictures($("classify"), $("photo-file"), (bitmap) => {
        clear(); // the middle square of the photo
        const size = Math.min(bitmap.width, bitmap.height);
        pen.drawImage(bitmap, (bitmap.width - size) / 2, (bitmap.height - size) / 2, size, size,
            0, 0, side, side);
        soon();
    });
    $("field-block").addEventListener("change", soon);

    $("model-file").addEventListener("change", async () => {
        const files = Array.from($("model-file").files);
        try {
            const bytes = await Promise.all(files.map(async (f) =>
                [f.name, new Uint8Array(await f.arrayBuffer())]));
            $("classify-parts").hidden = false;
            const one = bytes.length === 1 && bytes[0][0].endsWith(".ssm2d");
            choose(ssm2d.openModel(one ? bytes[0][1] : Object.fromEntries(bytes)));
        } catch (error) {
            showProblem(error);
        }
    });

    if (!embedded.length) {
        $("no-models").hidden = false;
        $("classify-parts").hidden = true;
        return () => {};
    }
    for (const [i, { name }] of embedded.entries())
        $("model").append(element("option", { value: i, text: name }));
    $("model").addEventListener("change", () =>
        guarded(() => choose(openEmbedded(ssm2d, embedded[$("model").value]))));
    return () => model ? soon() : guarded(() => choose(openEmbedded(ssm2d, embedded[0])));
}
