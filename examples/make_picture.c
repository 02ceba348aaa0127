/* make_picture FILE.png [ROWS COLS] - draws a landscape to try the layer on: smooth sky, a sharp
 * sun, ragged hills, and a lake with fine ripples, so that a picture has edges, textures and flat
 * parts. */
#include "core/status.h"
#include "io/image.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct colour {
    double r, g, b;
} colour;

static colour mix(colour a, colour b, double t)
{
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    return (colour){a.r + (b.r - a.r) * t, a.g + (b.g - a.g) * t, a.b + (b.b - a.b) * t};
}

/* Returns a pseudo-random value in [0, 1) that depends on n only. */
static double hash(int n)
{
    uint32_t h = (uint32_t)n * 2654435761u;
    h = (h ^ (h >> 15)) * 2246822519u;
    h = (h ^ (h >> 13)) * 3266489917u;
    return (double)(h >> 8) / (1 << 24);
}

/* Returns the height of a range of hills at x, in [0, 1]: smooth noise in five octaves. */
static double outline(double x, int range)
{
    double sum = 0, weight = 0.5, scale = 3;
    for (int octave = 0; octave < 5; octave++, weight /= 2, scale *= 2.1) {
        double at = x * scale, left = floor(at), t = at - left;
        int key = (int)left + 1000 * octave + 10000 * range;
        t = t * t * (3 - 2 * t);
        sum += weight * (hash(key) * (1 - t) + hash(key + 1) * t);
    }
    return sum;
}

/* The colour above the water: x from 0 at the left, y from 0 at the top to 1 at the shore. */
static colour land_and_sky(double x, double y)
{
    const colour zenith = {38, 70, 130}, horizon = {250, 196, 140}, sun = {255, 244, 214};
    const colour far_hill = {128, 122, 158}, near_hill = {30, 46, 52};
    double away = hypot(x - 0.68, 0.72 * (y - 0.44));
    colour c = mix(zenith, horizon, 1.7 * y * y);
    c = mix(c, sun, 0.75 * exp(-away * 9));
    if (away < 0.07) c = sun;
    for (int range = 0; range < 3; range++) {
        double top = 0.42 + 0.17 * range + 0.38 * (0.5 - outline(x + range, range));
        if (y > top)
            c = mix(mix(far_hill, near_hill, range / 2.0), horizon, 0.35 * (y - top) * (3 - range));
    }
    return c;
}

static colour scene(double x, double y)
{
    const double shore = 0.72;
    if (y < shore) return land_and_sky(x, y / shore);
    double depth = (y - shore) / (1 - shore);
    double ripple = sin(90 / (depth + 0.08) + 6 * sin(7 * x + 30 * depth));
    colour mirrored = land_and_sky(x + 0.006 * ripple * (0.3 + depth), 1 - 0.8 * depth);
    return mix(mix(mirrored, (colour){16, 40, 60}, 0.3 + 0.3 * depth), (colour){255, 236, 200},
               0.12 * (ripple > 0.6));
}

static ssm2d_status draw(ssm2d_context *context, const char *path, size_t rows, size_t cols,
                         ssm2d_error *error)
{
    image_info info = {rows, cols, 3};
    image_writer *writer;
    uint8_t *row = malloc(cols * 3);
    if (!row) return fail(error, SSM2D_ERROR_MEMORY, "no memory for a row of %zu pixels", cols);
    ssm2d_status status = image_create(context, path, &info, NULL, &writer, error);
    if (status) goto done;
    for (size_t i = 0; i < rows && !status; i++) {
        for (size_t j = 0; j < cols; j++) {
            /* square pixels */
            colour c = scene((double)j / (double)rows, ((double)i + 0.5) / (double)rows);
            double rgb[3] = {c.r, c.g, c.b};
            for (int k = 0; k < 3; k++)
                row[3 * j + k] = (uint8_t)(rgb[k] < 0 ? 0 : rgb[k] > 255 ? 255 : rgb[k] + 0.5);
        }
        status = image_write_row(writer, row, error);
    }
    if (status)
        image_abandon(writer);
    else
        status = image_finish(writer, error);
done:
    free(row);
    return status;
}

int main(int argc, char **argv)
{
    ssm2d_context *context = NULL;
    ssm2d_error error;
    long rows = argc == 4 ? atol(argv[2]) : 480, cols = argc == 4 ? atol(argv[3]) : 640;
    if ((argc != 2 && argc != 4) || rows < 1 || cols < 1 || rows > 1000000 || cols > 1000000) {
        fprintf(stderr, "usage: make_picture FILE.png [ROWS COLS]\n");
        return 2;
    }
    ssm2d_status status = ssm2d_context_create(NULL, &context, &error);
    if (!status) status = draw(context, argv[1], (size_t)rows, (size_t)cols, &error);
    ssm2d_context_destroy(context);
    if (status) fprintf(stderr, "make_picture: %s\n", error.line);
    return status ? 1 : 0;
}
