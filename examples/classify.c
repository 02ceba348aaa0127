/* classify - prints the five likeliest classes of a picture (binary PPM or PGM), by the model of a
 * run's folder:
 *
 *     cc classify.c $(pkg-config --cflags --libs ssm2d-model) -o classify
 *     ./classify runs/demo photo.ppm */
#include <ssm2d_model.h>

#include <stdio.h>
#include <stdlib.h>

/* The pixels, to be freed, and what they are; NULL when the file is no such picture. */
static uint8_t *read_picture(const char *path, ssm2d_model_image *image)
{
    char kind = 0, end = 0;
    FILE *file = fopen(path, "rb");
    const int found =
        file ? fscanf(file, "P%c %5zu %5zu 255%c", &kind, &image->cols, &image->rows, &end) : 0;
    image->channels = kind == '6' ? 3 : 1;
    const size_t bytes = image->rows * image->cols * (size_t)image->channels;
    uint8_t *pixels = found == 4 && (kind == '5' || kind == '6') ? malloc(bytes + 1) : NULL;
    if (pixels && fread(pixels, 1, bytes, file) != bytes) {
        free(pixels);
        pixels = NULL;
    }
    if (file) fclose(file);
    return (uint8_t *)(image->pixels = pixels);
}

int main(int count, char **words)
{
    ssm2d_model *model = NULL;
    ssm2d_model_plan *plan = NULL;
    ssm2d_error error = {"usage: classify RUN PICTURE.ppm"};
    ssm2d_model_image image = {0};
    uint8_t *pixels = count == 3 ? read_picture(words[2], &image) : NULL;
    if (count == 3 && !pixels)
        snprintf(error.line, sizeof error.line, "%.200s: is no binary PPM or PGM", words[2]);
    if (!pixels || ssm2d_model_open(words[1], NULL, &model, &error)
        || ssm2d_model_plan_create(model, NULL, &plan, &error)
        || ssm2d_model_prepare(plan, 0, 1, &image, &error)) {
        fprintf(stderr, "%s\n", error.line);
        return 1;
    }
    const int classes = ssm2d_model_info_of(model).classes;
    float *logits = malloc((size_t)classes * sizeof *logits);
    double *likely = malloc((size_t)classes * sizeof *likely);
    if (!logits || !likely) return 1;
    ssm2d_model_run(plan, NULL, 1, logits);
    ssm2d_model_probabilities(model, logits, 1, likely);
    for (int shown = 0; shown < 5 && shown < classes; shown++) {
        int best = 0;
        for (int i = 1; i < classes; i++)
            if (likely[i] > likely[best]) best = i;
        printf("%5.1f %%  %s\n", 100 * likely[best], ssm2d_model_class_name(model, best));
        likely[best] = -1;
    }
    free(logits), free(likely), free(pixels);
    ssm2d_model_plan_destroy(plan);
    ssm2d_model_close(model);
    return 0;
}
