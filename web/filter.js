/* The tab Filter: a picture or the camera through ssm2d_stream, row by row. */
import { $, element, fitInto, guarded, showProblem, slider, takePictures } from "./common.js";
import { kernelOf, layerOf, onSystem, system } from "./system.js";

const PICTURE = 320, VIDEO = 160; // pixels of the longer side

/* A picture without a licence to ask for: shapes with edges in all directions. */
function drawExample(canvas) {
    canvas.width = 320;
    canvas.height = 240;
    const c = canvas.getContext("2d", { willReadFrequently: true });
    const sky = c.createLinearGradient(0, 0, 0, 240);
    sky.addColorStop(0, "#2b5f9e");
    sky.addColorStop(1, "#f2c88b");
    c.fillStyle = sky;
    c.fillRect(0, 0, 320, 240);
    c.fillStyle = "#fff3c4";
    c.beginPath();
    c.arc(236, 62, 24, 0, 2 * Math.PI);
    c.fill();
    const hill = (colour, points) => {
        c.fillStyle = colour;
        c.beginPath();
        c.moveTo(0, 240);
        for (const [x, y] of points) c.lineTo(x, y);
        c.lineTo(320, 240);
        c.fill();
    };
    hill("#5d5a7e", [[0, 150], [70, 84], [130, 150], [180, 104], [260, 168], [320, 120]]);
    hill("#2f4b3c", [[0, 196], [90, 166], [200, 204], [320, 176]]);
    c.fillStyle = "#d9482b";
    c.fillRect(84, 150, 44, 36);
    c.fillStyle = "#6b2a1b";
    c.beginPath();
    c.moveTo(76, 152);
    c.lineTo(106, 126);
    c.lineTo(136, 152);
    c.fill();
    c.fillStyle = "#ffe9a8";
    c.fillRect(94, 160, 10, 12);
    c.strokeStyle = "#f7f3e8";
    c.lineWidth = 3;
    for (let x = 170; x < 320; x += 18) {
        c.beginPath();
        c.moveTo(x, 214);
        c.lineTo(x, 190);
        c.stroke();
    }
    c.fillStyle = "#fff";
    c.font = "bold 20px sans-serif";
    c.fillText("ssm2d", 20, 34);
}

export function startFilter(ssm2d) {
    const input = $("filter-in"), output = $("filter-out");
    const work = { frame: 0, video: null };
    const rows = slider({ label: "Rows per frame", min: 1, max: 64, step: 1, value: 4, long: true });
    $("rows-slider").append(rows.root);

    /* A stream of RGB rows and what keeps the brightness: the sum of the kernel, or for one that
     * sums to nothing that of its sizes. */
    function open(width) {
        const directions = Number($("filter-directions").value);
        const s = { ...system, directions };
        const { layer, params } = layerOf(ssm2d, s,
            { channels: 3, ...(directions === 2 ? { pair: "columns" } : {}) }, Float32Array);
        const kernel = kernelOf(ssm2d, s, 32, 32);
        const sum = kernel.reduce((a, x) => a + x, 0) * directions;
        const size = kernel.reduce((a, x) => a + Math.abs(x), 0) * directions;
        const balanced = Math.abs(sum) > 0.05 * size;
        return { stream: layer.stream(params, { cols: width }), balanced,
            scale: 1 / ((balanced ? sum : size / 2) || 1) };
    }

    /* Filters rows first .. end of the pixels in place of those of `to`. */
    function filterRows({ stream, scale, balanced }, from, to, width, first, end, minus) {
        const row = new Float32Array(3 * width);
        for (let i = first; i < end; i++) {
            for (let j = 0; j < width; j++)
                for (let c = 0; c < 3; c++) row[3 * j + c] = from[4 * (i * width + j) + c];
            const y = stream.push(row);
            for (let j = 0; j < width; j++) {
                const at = 4 * (i * width + j);
                for (let c = 0; c < 3; c++) {
                    const x = scale * y[3 * j + c];
                    to[at + c] = minus ? 128 + (from[at + c] - x) / 2 : balanced ? x : 128 + x;
                }
                to[at + 3] = 255;
            }
        }
    }

    const contextOf = (canvas) => canvas.getContext("2d", { willReadFrequently: true });
    const isMinus = () => $("filter-show").value === "minus";

    function stop() {
        cancelAnimationFrame(work.frame);
        work.stream?.free();
        work.stream = null;
    }

    function streamPicture() {
        if (work.video) return;
        stop();
        guarded(() => {
            const { width, height } = input, opened = open(width), minus = isMinus();
            output.width = width;
            output.height = height;
            work.stream = opened.stream;
            const from = contextOf(input).getImageData(0, 0, width, height).data;
            const image = contextOf(output).createImageData(width, height);
            let row = 0;
            const frame = () => {
                const end = Math.min(row + rows.get(), height);
                filterRows(opened, from, image.data, width, row, end, minus);
                contextOf(output).putImageData(image, 0, 0, 0, row, width, end - row);
                row = end;
                if (row < height) {
                    contextOf(output).fillStyle = "#ff7a1a";
                    contextOf(output).fillRect(0, row, width, 1);
                    work.frame = requestAnimationFrame(frame);
                } else stop();
                $("filter-text").textContent = row < height ? `row ${row} of ${height}`
                    : `${height} rows of ${width} pixels`
                    + (minus || opened.balanced ? "" : "; the kernel sums to nothing, so grey is 0");
            };
            frame();
        });
    }

    async function startCamera() {
        try {
            work.media = await navigator.mediaDevices.getUserMedia({ video: { width: 320 } });
        } catch (error) {
            showProblem(new Error(`The browser does not give the camera to this page (${error.name
                }). Choose a picture instead: on a phone that offers the camera too.`));
            return;
        }
        stop();
        const video = element("video", { playsinline: "" });
        video.srcObject = work.media;
        await video.play();
        work.video = video;
        $("camera").setAttribute("aria-pressed", "true");
        $("camera").textContent = "Stop the camera";
        const frame = () => {
            if (!work.video) return;
            fitInto(input, video, video.videoWidth, video.videoHeight, VIDEO);
            const { width, height } = input, opened = open(width);
            output.width = width;
            output.height = height;
            const from = contextOf(input).getImageData(0, 0, width, height).data;
            const image = contextOf(output).createImageData(width, height), begin = performance.now();
            filterRows(opened, from, image.data, width, 0, height, isMinus());
            opened.stream.free();
            contextOf(output).putImageData(image, 0, 0);
            $("filter-text").textContent = `${width} x ${height} pixels in `
                + `${short1(performance.now() - begin)} ms`;
            work.frame = requestAnimationFrame(frame);
        };
        frame();
    }

    const short1 = (x) => x.toFixed(1);

    function stopCamera() {
        work.media?.getTracks().forEach((track) => track.stop());
        work.video = work.media = null;
        $("camera").setAttribute("aria-pressed", "false");
        $("camera").textContent = "Use the camera";
        stop();
    }

    $("camera").addEventListener("click", () => work.video ? stopCamera() : startCamera());
    $("filter-run").addEventListener("click", streamPicture);
    $("filter-example").addEventListener("click", () => {
        stopCamera();
        drawExample(input);
        streamPicture();
    });
    for (const id of ["filter-directions", "filter-show"])
        $(id).addEventListener("change", streamPicture);
    takePictures($("filter"), $("filter-file"), (bitmap) => {
        stopCamera();
        fitInto(input, bitmap, bitmap.width, bitmap.height, PICTURE);
        streamPicture();
    });
    drawExample(input);
    let stale = true;
    onSystem(() => {
        stale = true;
        if (!$("filter").hidden) show();
    });
    function show() {
        if (stale) streamPicture();
        stale = false;
    }
    return show;
}
