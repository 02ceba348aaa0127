/* Programs that compute the kernel of the page: "Copy as C, Python, JavaScript". */
import { parametersOf, settingsOf } from "./system.js";

const numbers = (list) => list.map((x) => String(Number(x.toPrecision(17)))).join(", ");

const words = (settings, join, quote) => Object.entries(settings).map(([key, value]) =>
    `${key}${join}${quote(value)}`);

function programC(s) {
    const settings = words(settingsOf(s), "=", String).join(" ");
    return `/* kernel.c: cc kernel.c $(pkg-config --cflags --libs ssm2d) -o kernel && ./kernel */
#include <ssm2d.h>

#include <stdio.h>

enum { ROWS = ${s.size}, COLS = ${s.size}, DIRECTIONS = ${s.directions} };

int main(void)
{
    static const char settings[] =
        "${settings}";
    /* one after the other: ${Object.keys(parametersOf(s)).join(", ")} */
    static const double params[] = {
        ${Object.values(parametersOf(s)).map(numbers).join(",\n        ")}};
    static double kernel[DIRECTIONS * ROWS * COLS];
    ssm2d_context *context = NULL;
    ssm2d_layer *layer = NULL;
    ssm2d_plan *plan = NULL;
    ssm2d_workspace *workspace = NULL;
    ssm2d_error error;
    ssm2d_plan_options options = ssm2d_plan_options_default();
    options.grid = ssm2d_grid_2d(ROWS, COLS);
    options.type = SSM2D_DOUBLE;
    if (ssm2d_context_create(NULL, &context, &error)
        || ssm2d_layer_create(context, "ssm2d", settings, &layer, &error)
        || ssm2d_plan_create(context, layer, &options, &plan, &error)
        || ssm2d_workspace_create(plan, &workspace, &error)) {
        puts(error.line);
        return 1;
    }
    ssm2d_kernel_double(plan, workspace, params, kernel);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLS; j++)
            printf("%.9g%s", kernel[i * COLS + j], j + 1 < COLS ? " " : "\\n");
    ssm2d_workspace_destroy(workspace);
    ssm2d_plan_destroy(plan);
    ssm2d_layer_destroy(layer);
    ssm2d_context_destroy(context);
    return 0;
}
`;
}

/* The shape of a parameter: [4 or 2][system][coordinate] */
function programPython(s) {
    const python = (value) => value === true ? "True" : value === false ? "False"
        : typeof value === "string" ? JSON.stringify(value) : value;
    const params = Object.entries(parametersOf(s)).map(([name, list]) =>
        `    "${name}": np.array([${numbers(list)}]).reshape(${list.length}, 1, 1),`);
    return `# kernel.py: needs the Python package ssm2d
import numpy as np
import ssm2d

layer = ssm2d.Layer("ssm2d", ${words(settingsOf(s), "=", python).join(", ")})
params = {
${params.join("\n")}
}
kernel = layer.kernel(params, ${s.size}, ${s.size})  # (directions, channels, rows, columns)
for row in kernel[0, 0]:
    print(*(f"{x:.9g}" for x in row))
`;
}

function programJavaScript(s) {
    return `// kernel.mjs: needs the npm package ssm2d
import { load } from "ssm2d";

const ssm2d = await load();
const layer = ssm2d.layer("ssm2d", "${words(settingsOf(s), "=", String).join(" ")}");
// one after the other: ${Object.keys(parametersOf(s)).join(", ")}
const params = Float64Array.of(
    ${Object.values(parametersOf(s)).map(numbers).join(",\n    ")});
const { data } = layer.kernel(params, { rows: ${s.size}, cols: ${s.size} });
for (let i = 0; i < ${s.size}; i++)
    console.log(Array.from(data.subarray(i * ${s.size}, (i + 1) * ${s.size}),
        (x) => Number(x.toPrecision(9))).join(" "));
layer.free();
`;
}

export const programs = { C: programC, Python: programPython, JavaScript: programJavaScript };
