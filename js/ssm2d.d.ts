/* ssm2d - layers over grids and trained models, compiled to WebAssembly. docs/browser.md has a walk
 * through these functions, docs/layer.md the mathematics and the settings of every kind of layer.
 *
 * Arrays are copied in and out. A Float32Array selects single precision, a Float64Array double; one
 * call takes one of them. Errors are thrown as Ssm2dError, with the line of the C library.
 *
 * free() releases an object's memory inside the module at once; otherwise garbage collection does,
 * at some time. An object is not used after free(). */

export class Ssm2dError extends Error {}

/** Whether this engine has SIMD128. */
export function hasSimd(): boolean;

/** Loads the module: that with SIMD128 where the engine has it, unless `simd` decides. `wasm`: the
 * bytes of the module, for pages that embed it; otherwise it is read from beside this file. */
export function load(options?: { simd?: boolean; wasm?: BufferSource }): Promise<Ssm2d>;

export type Reals = Float32Array | Float64Array;

export interface Ssm2d {
    readonly version: string;
    readonly simd: boolean;
    /** Bytes of the module's memory, which grows and never shrinks. */
    readonly memoryBytes: number;
    readonly kinds: {
        name: string;
        help: string;
        algorithms: string[];
        canKernel: boolean;
        canStream: boolean;
    }[];
    /** settings: words "channels=3 d_state=8", or an object with the same keys. */
    layer(
        kind: string, settings: string | Record<string, string | number | boolean>): Layer;
    /** Opens a model of one file (*.ssm2d), or of the files of a run's folder by their names
     * (train.json, config.json, data.json and weights); without train.json, a configuration and
     * weights: config.json and model.safetensors. weights: those of the "last" or the "best" epoch;
     * by default the best if they are there, as `ssm2d predict` does. */
    openModel(
        files: Uint8Array | Record<string, Uint8Array>,
        options?: { weights?: "last" | "best" }): Model;
}

/** A grid of rows and columns, or `shape` with the extents of one to three axes. */
export interface Grid {
    batch?: number;
    rows?: number;
    cols?: number;
    shape?: number[];
    /** one of the kind's algorithms; "auto" by default */
    algorithm?: string;
}

export interface Layer {
    readonly kind: string;
    /** All settings, defaults included, as words. */
    readonly settings: string;
    readonly channels: number;
    /** Elements of `params`, the flat array of all parameters. */
    readonly parameterCount: number;
    readonly parameters: { name: string; offset: number; count: number; shape: number[] }[];
    /** The values that ssm2d_params_init gives for the seed (a whole number below 2**53). */
    initialParameters(seed?: number): Float32Array;
    initialParameters(seed: number, Type: Float64ArrayConstructor): Float64Array;
    /** The algorithm that a plan for this grid takes. */
    algorithm(grid: Grid, Type?: Float32ArrayConstructor | Float64ArrayConstructor): string;
    /** The convolution kernels, of the shape that ssm2d.h describes. */
    kernel<T extends Reals>(params: T, grid: Grid): { data: T; shape: number[] };
    /** u, and the result: [batch][axes of the grid ..][channels]. */
    forward<T extends Reals>(params: T, u: T, grid: Grid): T;
    /** The gradients of sum(dy * forward(params, u)). */
    backward<T extends Reals>(params: T, u: T, dy: T, grid: Grid): { du: T; dparams: T };
    /** The layer as a recurrence over rows, for kinds and directions that can be streamed. */
    stream<T extends Reals>(params: T, options: { cols: number; batch?: number }): Stream<T>;
    free(): void;
}

export interface Stream<T extends Reals> {
    /** Takes the next row [batch][cols][channels] and returns the layer's output for it. */
    push(row: T): T;
    /** Back to before the first row. */
    reset(): void;
    free(): void;
}

/** Pixels of 8 bits, row by row, with 1 to 4 channels: grey, grey and alpha, RGB, RGBA. An
 * ImageData of a canvas is one. */
export interface Image8 {
    data: Uint8Array | Uint8ClampedArray;
    width: number;
    height: number;
}

export interface Prediction {
    logits: Float32Array;
    probabilities: Float64Array;
    /** The outputs by falling probability. */
    ranking: { index: number; name: string; probability: number }[];
}

export interface Model {
    readonly name: string;
    readonly family: string;
    readonly mixer: string;
    readonly task: string;
    readonly activation: string;
    readonly outputs: number;
    readonly classes: string[];
    /** Of the images that the model was trained on. */
    readonly rows: number;
    readonly cols: number;
    readonly channels: number;
    readonly parameters: number;
    readonly blocks: number;
    /** How pixels are prepared; null for a model without a run's files, which only run() serves. */
    readonly preparation: {
        mean: number[];
        std: number[];
        crop: number;
        filter: "bilinear" | "bicubic";
    } | null;
    /** Prepares the image as evaluation does and runs the model; size: another image size than that
     * of training, as `ssm2d eval --image-size`. */
    classify(image: Image8, size?: { rows: number; cols: number }): Prediction;
    /** The image as the model reads it, [channels][rows][cols]: resized, then (pixel / 255 - mean) /
     * std. */
    prepare(image: Image8): Float32Array;
    /** Runs the model on an image [channels][rows][cols] that the caller has prepared. */
    run(image: Float32Array): Prediction;
    /** The tokens after a block, from 1; the last by default. data: [tokens][dim], the first `first`
     * of which belong to no place, then those of a grid of rows and columns. */
    features(image: Image8, block?: number, size?: { rows: number; cols: number }): {
        data: Float32Array;
        tokens: number;
        dim: number;
        first: number;
        rows: number;
        cols: number;
    };
    /** How much the centre token after `blocks` blocks (0: all) depends on each pixel of the image:
     * data[rows][cols], its maximum 1. radius: the pixels from the centre that hold half of it. */
    receptiveField(image: Image8, blocks?: number): {
        data: Float64Array;
        rows: number;
        cols: number;
        radius: number;
        centre: { row: number; col: number; rows: number; cols: number };
    };
    free(): void;
}
