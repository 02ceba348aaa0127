/* ssm2d - layers over grids and trained models in browsers and Node.js: the C library, compiled to
 * WebAssembly. ssm2d.d.ts has the contract of every function; docs/browser.md a walk through them.
 *
 * Arrays are copied to and from the module's memory. Float32Array selects the functions for float,
 * Float64Array those for double. */
import createRuntime from "./runtime.js";

export class Ssm2dError extends Error {
    constructor(line) {
        super(line);
        this.name = "Ssm2dError";
    }
}

/* A function that returns a v128: a module that only engines with SIMD128 accept. */
const SIMD_PROBE = new Uint8Array([
    0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253,
    15, 253, 98, 11]);

export function hasSimd() {
    return WebAssembly.validate(SIMD_PROBE);
}

async function readModule(name) {
    const url = new URL(name, import.meta.url);
    if (url.protocol === "file:" && typeof process === "object" && process.versions?.node) {
        const { readFile } = await import("node:fs/promises");
        return readFile(url);
    }
    const response = await fetch(url);
    if (!response.ok) throw new Ssm2dError(`${url}: ${response.status} ${response.statusText}`);
    return new Uint8Array(await response.arrayBuffer());
}

/* The given options over the defaults; unknown names are refused, as the library refuses them. */
function withDefaults(given, defaults, where) {
    for (const name of Object.keys(given ?? {}))
        if (!(name in defaults))
            throw new Ssm2dError(`${where}: there is no option ${name}: use `
                + Object.keys(defaults).join(", "));
    const all = { ...defaults };
    for (const [name, value] of Object.entries(given ?? {}))
        if (value !== undefined) all[name] = value;
    return all;
}

function count(value, name) {
    if (!Number.isInteger(value) || value < 0 || value > 0x7fffffff)
        throw new Ssm2dError(`${name}=${value}: use a whole number of at least 0`);
    return value;
}

export async function load(options) {
    const { simd, wasm } = withDefaults(options, { simd: hasSimd(), wasm: null }, "load");
    const wasmBinary = wasm ?? await readModule(simd ? "ssm2d-simd.wasm" : "ssm2d-baseline.wasm");
    const runtime = await createRuntime({ wasmBinary, print() {}, printErr() {} });
    return new Library(runtime, Boolean(simd));
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Calls into the module, with arrays and texts in memory that lasts as long as the call. */
class Memory {
    constructor(runtime) {
        this.c = runtime;
    }

    fail() {
        throw new Ssm2dError(this.text(this.c._binding_error()));
    }

    made(pointer) {
        return pointer || this.fail();
    }

    check(status) {
        if (status) this.fail();
    }

    text(pointer) {
        return pointer ? this.c.UTF8ToString(pointer) : null;
    }

    allocate(bytes) {
        const pointer = this.c._malloc(Math.max(bytes, 8));
        if (!pointer) throw new Ssm2dError(`out of memory: ${bytes} bytes`);
        return pointer;
    }

    /* The module's memory as an array; it is invalid after the next call, which may grow it. */
    view(Type, pointer, length) {
        return new Type(this.c.HEAPU8.buffer, pointer, length);
    }

    put(array) {
        const pointer = this.allocate(array.byteLength);
        this.view(array.constructor === Uint8ClampedArray ? Uint8Array : array.constructor,
            pointer, array.length).set(array);
        return pointer;
    }

    putText(text) {
        const size = this.c.lengthBytesUTF8(text) + 1, pointer = this.allocate(size);
        this.c.stringToUTF8(text, pointer, size);
        return pointer;
    }

    /* Calls body(...pointers) with the texts and arrays in the module's memory; undefined: NULL. */
    with(values, body) {
        const pointers = [];
        try {
            for (const value of values)
                pointers.push(value === undefined ? 0
                    : typeof value === "string" ? this.putText(value) : this.put(value));
            return body(...pointers);
        } finally {
            for (const pointer of pointers) this.c._free(pointer);
        }
    }

    /* A copy of `length` elements that body(pointer) has written. */
    filled(Type, length, body) {
        const pointer = this.allocate(length * Type.BYTES_PER_ELEMENT);
        try {
            this.view(Uint8Array, pointer, length * Type.BYTES_PER_ELEMENT).fill(0);
            body(pointer);
            return this.view(Type, pointer, length).slice();
        } finally {
            this.c._free(pointer);
        }
    }
}

const registry = new FinalizationRegistry((release) => release());

/* An object of the module: free() releases it, or else garbage collection. */
class Handle {
    #release;
    #name;

    constructor(name, release) {
        this.#name = name;
        this.#release = release;
        registry.register(this, release, this);
    }

    free() {
        if (!this.#release) return;
        registry.unregister(this);
        this.#release();
        this.#release = null;
    }

    alive() {
        if (!this.#release) throw new Ssm2dError(`${this.#name}: used after free()`);
    }
}

/* ---- library --------------------------------------------------------------------------------- */

class Library {
    #memory;
    #context;
    #folders = 0;

    constructor(runtime, simd) {
        this.#memory = new Memory(runtime);
        this.#context = this.#memory.made(runtime._binding_context());
        this.simd = simd;
        this.version = this.#memory.text(runtime._ssm2d_version());
    }

    /* Bytes of the module's memory, which grows and never shrinks. */
    get memoryBytes() {
        return this.#memory.c.HEAPU8.length;
    }

    get kinds() {
        const m = this.#memory, kinds = [];
        for (let i = 0, name; (name = m.text(m.c._ssm2d_kind_name(i))); i++)
            kinds.push(m.with([name], (pointer) => {
                const algorithms = [];
                for (let a = 0, text; (text = m.text(m.c._ssm2d_kind_algorithm(pointer, a))); a++)
                    algorithms.push(text);
                const bits = m.c._ssm2d_kind_capabilities(pointer);
                return { name, help: m.text(m.c._ssm2d_kind_help(pointer)), algorithms,
                    canKernel: Boolean(bits & 1), canStream: Boolean(bits & 4) };
            }));
        return kinds;
    }

    layer(kind, settings) {
        const words = typeof settings === "string" ? settings
            : Object.entries(settings).map(([key, value]) => `${key}=${value}`).join(" ");
        return new Layer(this.#memory, this.#context, kind, words);
    }

    openModel(files, options) {
        const { weights } = withDefaults(options, { weights: undefined }, "openModel");
        return new Model(this.#memory, `/model-${this.#folders++}`, files, weights);
    }
}

/* ---- layers ---------------------------------------------------------------------------------- */

const GRID = { batch: 1, rows: undefined, cols: undefined, shape: undefined, algorithm: "auto" };

class Layer extends Handle {
    #memory;
    #context;
    #layer;
    #plans; // the plan and workspace that were used last: {key, plan, workspace}

    constructor(memory, context, kind, words) {
        const c = memory.c;
        const layer = memory.with([kind, words], (k, w) =>
            memory.made(c._binding_layer(context, k, w)));
        const plans = { key: "", plan: 0, workspace: 0 };
        super("layer", () => {
            c._ssm2d_workspace_destroy(plans.workspace);
            c._ssm2d_plan_destroy(plans.plan);
            c._ssm2d_layer_destroy(layer);
        });
        this.#memory = memory;
        this.#context = context;
        this.#layer = layer;
        this.#plans = plans;
        this.kind = kind;
        this.channels = c._ssm2d_layer_channels(layer);
        const size = 1 + c._ssm2d_layer_settings(layer, 0, 0);
        this.settings = new TextDecoder().decode(memory.filled(Uint8Array, size, (p) =>
            c._ssm2d_layer_settings(layer, p, size)).subarray(0, size - 1));
        this.parameterCount = c._ssm2d_layer_param_count(layer);
        this.parameters = [];
        for (let i = 0, name = 0; name !== null; i++) {
            const numbers = memory.filled(Uint32Array, 8, (p) => {
                name = memory.text(c._binding_layer_param(layer, i, p));
            });
            const [offset, size_, rank] = numbers;
            if (name !== null)
                this.parameters.push({ name, offset, count: size_,
                    shape: Array.from(numbers.subarray(3, 3 + rank)) });
        }
    }

    initialParameters(seed = 0, Type = Float32Array) {
        this.alive();
        const m = this.#memory, low = seed % 2 ** 32 >>> 0, high = Math.floor(seed / 2 ** 32) >>> 0;
        return m.filled(Type, this.parameterCount, (p) => m.check(m.c._binding_params_init(
            this.#layer, low, high, Number(Type === Float64Array), p)));
    }

    #typed(array, length, name) {
        if (!(array instanceof Float32Array) && !(array instanceof Float64Array))
            throw new Ssm2dError(`${name}: must be a Float32Array or a Float64Array`);
        if (array.length !== length)
            throw new Ssm2dError(`${name}: has ${array.length} elements, needs ${length}`);
        return array.constructor;
    }

    #params(params) {
        this.alive();
        const m = this.#memory, Type = this.#typed(params, this.parameterCount, "params");
        m.with([params], (p) => m.check(m.c._binding_params_check(this.#layer,
            Number(Type === Float64Array), p)));
        return Type;
    }

    /* Plans, unless the last call had the same grid and type; returns {plan, workspace, cells}. */
    #planned(grid, Type) {
        this.alive();
        const o = withDefaults(grid, GRID, "grid");
        const shape = (o.shape ?? [o.rows, o.cols]).map((n) => count(n, "extent"));
        const is_double = Number(Type === Float64Array);
        const key = JSON.stringify([o.batch, shape, is_double, o.algorithm]);
        const plans = this.#plans, m = this.#memory;
        if (plans.key !== key) {
            m.c._ssm2d_workspace_destroy(plans.workspace);
            m.c._ssm2d_plan_destroy(plans.plan);
            Object.assign(plans, { key: "", plan: 0, workspace: 0 });
            plans.plan = m.with([o.algorithm], (algorithm) => m.made(m.c._binding_plan(
                this.#context, this.#layer, count(o.batch, "batch"), shape.length, shape[0] ?? 0,
                shape[1] ?? 1, shape[2] ?? 1, is_double, algorithm)));
            plans.workspace = m.made(m.c._binding_workspace(plans.plan));
            plans.key = key;
        }
        const suffix = is_double ? "_double" : "";
        const call = (name, ...args) => m.c[`_ssm2d_${name}${suffix}`](plans.plan, plans.workspace,
            ...args);
        return { plan: plans.plan, call, shape: [o.batch, ...shape, this.channels] };
    }

    /* The algorithm that a plan for this grid takes. */
    algorithm(grid, Type = Float32Array) {
        return this.#memory.text(
            this.#memory.c._ssm2d_plan_algorithm(this.#planned(grid, Type).plan));
    }

    kernel(params, grid) {
        const m = this.#memory, Type = this.#params(params);
        const { plan, call } = this.#planned(grid, Type);
        let rank = 0;
        const sizes = m.filled(Uint32Array, 4, (p) => {
            rank = m.c._ssm2d_kernel_shape(plan, p);
        });
        if (!rank) throw new Ssm2dError(`layers of kind ${this.kind} have no kernel`);
        const shape = Array.from(sizes.subarray(0, rank));
        const data = m.with([params], (p) => m.filled(Type, shape.reduce((a, b) => a * b, 1),
            (out) => call("kernel", p, out)));
        return { data, shape };
    }

    forward(params, u, grid) {
        const m = this.#memory, Type = this.#params(params);
        const { call, shape } = this.#planned(grid, Type);
        this.#same(Type, u, shape, "u");
        return m.with([params, u], (p, in_) => m.filled(Type, u.length,
            (out) => call("forward", p, in_, out)));
    }

    backward(params, u, dy, grid) {
        const m = this.#memory, Type = this.#params(params);
        const { call, shape } = this.#planned(grid, Type);
        this.#same(Type, u, shape, "u");
        this.#same(Type, dy, shape, "dy");
        let dparams;
        const du = m.with([params, u, dy], (p, in_, d) => m.filled(Type, u.length, (out) => {
            dparams = m.filled(Type, params.length, (dp) => {
                const y = m.allocate(u.byteLength);
                call("forward", p, in_, y);
                m.c._free(y);
                call("backward", p, in_, d, out, dp);
            });
        }));
        return { du, dparams };
    }

    #same(Type, array, shape, name) {
        if (this.#typed(array, shape.reduce((a, b) => a * b, 1), name) !== Type)
            throw new Ssm2dError(`${name}: must be a ${Type.name}, as params`);
    }

    stream(params, options) {
        const Type = this.#params(params);
        const { cols, batch } = withDefaults(options, { cols: undefined, batch: 1 }, "stream");
        const m = this.#memory, is_double = Number(Type === Float64Array);
        const stream = m.with([params], (p) => m.made(m.c._binding_stream(this.#context,
            this.#layer, count(batch, "batch"), count(cols, "cols"), is_double, p)));
        return new Stream(m, stream, batch * cols * this.channels, Type);
    }
}

class Stream extends Handle {
    #memory;
    #stream;
    #length;
    #Type;

    constructor(memory, stream, length, Type) {
        super("stream", () => memory.c._ssm2d_stream_destroy(stream));
        this.#memory = memory;
        this.#stream = stream;
        this.#length = length;
        this.#Type = Type;
    }

    push(row) {
        this.alive();
        const m = this.#memory, Type = this.#Type, n = this.#length;
        if (!(row instanceof Type) || row.length !== n)
            throw new Ssm2dError(`row: must be a ${Type.name} of ${n} elements`);
        const name = Type === Float64Array ? "_ssm2d_stream_push_double" : "_ssm2d_stream_push";
        return m.with([row], (u) => m.filled(Type, n, (y) => m.c[name](this.#stream, u, y)));
    }

    reset() {
        this.alive();
        this.#memory.c._ssm2d_stream_reset(this.#stream);
    }
}

/* ---- models ---------------------------------------------------------------------------------- */

/* Writes files into a new folder of the file system in memory, for as long as body(path) runs. */
function withFiles(fs, folder, files, body) {
    const names = Object.keys(files);
    fs.mkdir(folder);
    try {
        for (const name of names) {
            if (/[/\0]|^\.{0,2}$/.test(name))
                throw new Ssm2dError(`${name}: is not the name of a file`);
            fs.writeFile(`${folder}/${name}`, files[name]);
        }
        return body();
    } finally {
        for (const name of fs.readdir(folder))
            if (name !== "." && name !== "..") fs.unlink(`${folder}/${name}`);
        fs.rmdir(folder);
    }
}

function openFiles(m, folder, files, weights) {
    const one = ArrayBuffer.isView(files);
    const all = one ? { "model.ssm2d": files } : files;
    const which = weights ?? ("best.safetensors" in all ? "best" : "last");
    if (which !== "best" && which !== "last")
        throw new Ssm2dError(`weights=${which}: use best or last`);
    const open = () => {
        if (!one && !("train.json" in all))
            return m.with([`${folder}/config.json`, `${folder}/model.safetensors`],
                (config, file) => m.made(m.c._binding_model_files(config, file)));
        return m.with([one ? `${folder}/model.ssm2d` : folder], (path) =>
            m.made(m.c._binding_model(path, Number(which === "best"))));
    };
    try {
        return withFiles(m.c.FS, folder, all, open);
    } catch (error) { // the folder is ours: only the names of files mean something to the caller
        if (error instanceof Ssm2dError) error.message = error.message.replaceAll(`${folder}/`, "")
            .replaceAll(folder, "model");
        throw error;
    }
}

class Model extends Handle {
    #memory;
    #model;
    #sessions; // by size and features: {session, output}

    constructor(memory, folder, files, weights) {
        const c = memory.c, model = openFiles(memory, folder, files, weights);
        const sessions = new Map();
        super("model", () => {
            for (const { session } of sessions.values()) c._ssm2d_session_destroy(session);
            c._ssm2d_model_close(model);
        });
        this.#memory = memory;
        this.#model = model;
        this.#sessions = sessions;
        let texts;
        const numbers = memory.filled(Uint32Array, 6, (n) => {
            texts = memory.filled(Uint32Array, 5, (t) => c._binding_model_info(model, t, n));
        });
        [this.name, this.family, this.mixer, this.task, this.activation] =
            Array.from(texts, (pointer) => memory.text(pointer));
        [this.outputs, this.rows, this.cols, this.channels, this.parameters, this.blocks] = numbers;
        this.classes = Array.from({ length: this.outputs }, (_, i) =>
            memory.text(c._ssm2d_model_output_name(model, i)) ?? String(i));
        let has = 0;
        const p = memory.filled(Float64Array, 8, (out) => {
            has = c._binding_model_preparation(model, out);
        });
        this.preparation = !has ? null : { mean: Array.from(p.subarray(0, 3)),
            std: Array.from(p.subarray(3, 6)), crop: p[6], filter: p[7] ? "bicubic" : "bilinear" };
    }

    #session(features, size) {
        this.alive();
        const { rows, cols } = withDefaults(size, { rows: 0, cols: 0 }, "size");
        const m = this.#memory, key = `${features} ${rows} ${cols}`;
        if (!this.#sessions.has(key)) {
            const session = m.made(m.c._binding_session(this.#model, count(rows, "rows"),
                count(cols, "cols"), count(features, "features")));
            const output = m.filled(Uint32Array, 6, (p) => m.c._binding_session_output(session, p));
            this.#sessions.set(key, { session, output });
        }
        return this.#sessions.get(key);
    }

    /* Prepares the image and runs the session. */
    #run({ session, output }, image) {
        const m = this.#memory, { data, width, height } = image;
        const channels = data.length / (width * height);
        if (!(data instanceof Uint8Array || data instanceof Uint8ClampedArray)
            || !Number.isInteger(channels) || channels < 1 || channels > 4)
            throw new Ssm2dError("image: must have width, height, and data of 8 bits with 1 to 4 "
                + "channels, as ImageData has");
        return m.with([data], (pixels) => m.filled(Float32Array, output[0], (out) =>
            m.check(m.c._binding_session_run(session, pixels, height, width, channels, out))));
    }

    classify(image, size) {
        return this.#predicted(this.#run(this.#session(0, size), image));
    }

    /* image: [channels][rows][cols], prepared by the caller */
    run(image) {
        const m = this.#memory, { session, output } = this.#session(0);
        const needs = this.channels * this.rows * this.cols;
        if (!(image instanceof Float32Array) || image.length !== needs)
            throw new Ssm2dError(`image: must be a Float32Array of ${needs} elements`);
        return this.#predicted(m.with([image], (in_) => m.filled(Float32Array, output[0], (out) =>
            m.check(m.c._binding_session_run_prepared(session, in_, out)))));
    }

    #predicted(logits) {
        const m = this.#memory;
        const probabilities = m.with([logits], (in_) => m.filled(Float64Array, this.outputs,
            (out) => m.check(m.c._binding_probabilities(this.#model, in_, out))));
        const ranking = Array.from(probabilities, (probability, index) => ({ index,
            name: this.classes[index], probability }));
        ranking.sort((a, b) => b.probability - a.probability || a.index - b.index);
        return { logits, probabilities, ranking };
    }

    features(image, block = this.blocks, size) {
        const session = this.#session(count(block, "block"), size);
        const data = this.#run(session, image), [, tokens, dim, first, rows, cols] = session.output;
        return { data, tokens, dim, first, rows, cols };
    }

    /* The pointer to the image as the model reads it. */
    #prepared(image) {
        const session = this.#session(0);
        this.#run(session, image);
        return this.#memory.c._ssm2d_session_prepared(session.session);
    }

    prepare(image) {
        const prepared = this.#prepared(image);
        return this.#memory.view(Float32Array, prepared,
            this.channels * this.rows * this.cols).slice();
    }

    receptiveField(image, blocks = 0) {
        const m = this.#memory, prepared = this.#prepared(image);
        let numbers;
        const data = m.filled(Float64Array, this.rows * this.cols, (field) => {
            numbers = m.filled(Int32Array, 5, (centre) => m.check(m.c._binding_receptive_field(
                this.#model, count(blocks, "blocks"), prepared, field, centre)));
        });
        const [row, col, rows, cols, radius] = numbers;
        return { data, rows: this.rows, cols: this.cols, radius, centre: { row, col, rows, cols } };
    }
}
