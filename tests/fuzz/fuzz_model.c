/* fuzz_model - any bytes as the files of a run, as a configuration and weights, or as a model file,
 * opened as a trained model. What is taken can be planned, at another size too, or is refused with
 * a line; it then prepares pixels and runs.
 *
 * Input: a byte (bit 0: configuration and weights alone; bit 1: the best weights; bit 2: features;
 * bit 3: a model file; the rest: the image size, 0 for its own), three parts, train.json,
 * config.json and data.json, and the weights, or the model file alone. */
#define FUZZ_MAY_ASK_FOR_MORE
#include "../inference/session_helpers.h"
#include "fuzz.h"

#include "fuzz_files.h"
#include "inference/trained_model.h"
#include "io/json.h"

/* limits of a plan, so that a test does not take too long */
enum { MAX_PARAMETERS = 1 << 16, MAX_SIDE = 64, MAX_BLOCKS = 8 };

static ssm2d_status open_files(const char *config, const char *path, ssm2d_model **m,
                               ssm2d_error *error)
{
    model_config c = {0};
    cJSON *root = NULL;
    ssm2d_status status = json_read_regular(fuzz_context(), config, &root, error);
    if (!status) status = model_config_from_json(config, root, NULL, &c, error);
    cJSON_Delete(root);
    *m = NULL;
    return status ? status
                  : model_open_weights(fuzz_context(), config, &c, path, NULL, NULL, m, error);
}

static void check_info(const ssm2d_model *m)
{
    const ssm2d_model_info info = ssm2d_model_info_of(m);
    REQUIRE(info.outputs >= 1 && info.rows >= 1 && info.cols >= 1 && info.channels >= 1);
    REQUIRE(info.parameters >= 1 && info.blocks >= 1 && info.model && info.mixer);
    for (int i = 0; m->is_run && i < info.outputs; i++) REQUIRE(ssm2d_model_output_name(m, i));
    REQUIRE(!ssm2d_model_output_name(m, info.outputs));
}

static int is_small(const ssm2d_model *m)
{
    const ssm2d_model_info info = ssm2d_model_info_of(m);
    return info.parameters <= MAX_PARAMETERS && info.rows <= MAX_SIDE && info.cols <= MAX_SIDE
           && info.blocks <= MAX_BLOCKS;
}

static void run_plan(const ssm2d_model *m, unsigned flags)
{
    static const uint8_t pixels[6 * 5 * 3];
    const test_image image = {pixels, 6, 5, 3, 0};
    ssm2d_session_options o = ssm2d_session_options_default();
    ssm2d_session *p;
    ssm2d_error error = {{0}};
    o.features = flags >> 2 & 1;
    o.rows = o.cols = (int)(flags >> 4);
    ssm2d_status status = session_create(fuzz_context(), m, &o, &p, &error);
    if (status) {
        REQUIRE(!p);
        fuzz_check_refusal(status, &error, "");
        return;
    }
    float *out = malloc(ssm2d_session_output_of(p).count * sizeof *out);
    status = prepare_images(p, 0, 1, &image, &error);
    if (status)
        fuzz_check_refusal(status, &error, "");
    else
        REQUIRE(!ssm2d_session_run(p, NULL, 1, out, &error));
    free(out);
    ssm2d_session_destroy(p);
}

static void fuzz_one(const uint8_t *data, size_t size)
{
    static const char *const files[] = {"train.json", "config.json", "data.json"};
    fuzz_input in = {data, size};
    const unsigned flags = fuzz_byte(&in);
    const run_file which = flags & 2 ? RUN_BEST : RUN_MODEL;
    ssm2d_model *m;
    ssm2d_error error = {{0}};
    for (int i = 0; i < 3 && !(flags & 8); i++) {
        size_t length;
        const uint8_t *part = fuzz_part(&in, &length);
        fuzz_put(files[i], part, length);
    }
    const char *path = fuzz_put(run_file_names[which], in.at, in.left);
    const ssm2d_status status =
        flags & 8   ? model_open_run(fuzz_context(), path, which, NULL, &m, &error)
        : flags & 1 ? open_files(fuzz_path("config.json"), path, &m, &error)
                    : model_open_run(fuzz_context(), fuzz_folder(), which, NULL, &m, &error);
    if (status) {
        REQUIRE(!m);
        fuzz_check_refusal(status, &error, fuzz_folder());
        return;
    }
    check_info(m);
    if (is_small(m)) run_plan(m, flags);
    ssm2d_model_close(m);
}
