/* classify - prints the five likeliest classes of a picture (binary PPM or PGM), predicted by the
 * model in a run's folder:
 *
 *     cc classify.c $(pkg-config --cflags --libs ssm2d-model) -o classify
 *     ./classify runs/demo photo.ppm */
#include <ssm2d_model.h>

#include <stdio.h>
#include <stdlib.h>

typedef struct picture {
    uint8_t *pixels; /* to be freed; NULL: not a binary PPM or PGM file */
    size_t rows, cols;
    int channels;
} picture;

static picture read_picture(const char *path)
{
    picture p = {0};
    char kind = 0, end = 0;
    FILE *file = fopen(path, "rb");
    const int found = file ? fscanf(file, "P%c %5zu %5zu 255%c", &kind, &p.cols, &p.rows, &end) : 0;
    p.channels = kind == '6' ? 3 : 1;
    const size_t bytes = p.rows * p.cols * (size_t)p.channels;
    if (found == 4 && (kind == '5' || kind == '6')) p.pixels = malloc(bytes + 1);
    if (p.pixels && fread(p.pixels, 1, bytes, file) != bytes) {
        free(p.pixels);
        p.pixels = NULL;
    }
    if (file) fclose(file);
    return p;
}

int main(int count, char **words)
{
    ssm2d_model *model = NULL;
    ssm2d_session *session = NULL;
    ssm2d_error error = {"usage: classify RUN PICTURE.ppm"};
    const picture p = count == 3 ? read_picture(words[2]) : (picture){0};
    if (count == 3 && !p.pixels)
        snprintf(error.line, sizeof error.line, "%.200s: not a binary PPM or PGM file", words[2]);
    if (!p.pixels || ssm2d_model_open(words[1], NULL, &model, &error)
        || ssm2d_session_create(model, NULL, &session, &error)
        || ssm2d_session_prepare(session, 0, p.pixels, p.rows, p.cols, p.channels, 0, &error)) {
        fprintf(stderr, "%s\n", error.line);
        return 1;
    }
    const int outputs = ssm2d_model_info_of(model).outputs;
    float *logits = malloc((size_t)outputs * sizeof *logits);
    double *likely = malloc((size_t)outputs * sizeof *likely);
    if (!logits || !likely || ssm2d_session_run(session, NULL, 1, logits, &error)
        || ssm2d_model_probabilities(model, logits, 1, likely, &error))
        return 1;
    for (int shown = 0; shown < 5 && shown < outputs; shown++) {
        int best = 0;
        for (int i = 1; i < outputs; i++)
            if (likely[i] > likely[best]) best = i;
        printf("%5.1f %%  %s\n", 100 * likely[best], ssm2d_model_output_name(model, best));
        likely[best] = -1;
    }
    free(logits), free(likely), free(p.pixels);
    ssm2d_session_destroy(session);
    ssm2d_model_close(model);
    return 0;
}
