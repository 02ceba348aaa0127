#include "layer/config.h"

#include "core/field.h"
#include "core/sized.h"
#include "core/status.h"

#include <string.h>

/* Large enough for anything sensible, small enough that products of three fit size_t with room. */
enum { MAX_CHANNELS = 1 << 20, MAX_STATE = 1 << 12, MAX_SYSTEMS = 1 << 16, MAX_TRUNC = 1 << 20 };

static const char *const pair_names[] = {"both", "columns", NULL};
static const char *const norm_names[] = {"none", "half", "relaxed", "paper", NULL};
static const char *const values_names[] = {"real", "polar", "cartesian", NULL};
static const char *const assign_names[] = {"authors", "distinct", NULL};
static const int directions_allowed[] = {1, 2, 4, 0};

#define PLACE(name) offsetof(ssm2d_config, name)
/* clang-format off */
#define NUMBER(name, low, high, value, help)                                                       \
    {#name, help, SSM2D_KIND_INT, PLACE(name), low, high, value, NULL, NULL}
#define CHOICE(name, names, value, help)                                                           \
    {#name, help, SSM2D_KIND_CHOICE, PLACE(name), 0, sizeof names / sizeof *names - 2, value,      \
     names, NULL}
#define FLAG(name, value, help)                                                                    \
    {#name, help, SSM2D_KIND_FLAG, PLACE(name), 0, 1, value, NULL, NULL}
/* clang-format on */

const ssm2d_field layer_fields[] = {
    NUMBER(channels, 1, MAX_CHANNELS, NULL, "channels of the input, each filtered by itself"),
    NUMBER(d_state, 1, MAX_STATE, "16", "dimension of the state of a system"),
    NUMBER(n_ssm, 1, MAX_SYSTEMS, "8", "systems per direction; channels use them in turn"),
    {"directions", "corners of the image the layer looks towards: 1, 2 or 4", SSM2D_KIND_INT,
     PLACE(directions), 1, 4, "2", NULL, directions_allowed},
    CHOICE(pair, pair_names, "both",
           "what the second of two directions mirrors: both axes, or columns only"),
    FLAG(average, "false", "directions are averaged, not summed"),
    CHOICE(norm, norm_names, "relaxed", "normalisation of the recursion"),
    CHOICE(values, values_names, "real",
           "numbers of the systems: real, or complex in one of two forms"),
    FLAG(share_directions, "false", "every direction uses the same systems"),
    FLAG(c_per_channel, "false", "C for each direction and channel, not for each system"),
    FLAG(skip, "true", "adds D times the input"),
    FLAG(layer_norm, "false", "LayerNorm over channels at the end"),
    NUMBER(trunc_rows, 0, MAX_TRUNC, "0", "cuts the kernel to this many rows; 0: all"),
    NUMBER(trunc_cols, 0, MAX_TRUNC, "0", "cuts the kernel to this many columns; 0: all"),
    CHOICE(assign, assign_names, "authors",
           "systems of a channel: as published, or a different one for each direction"),
    {0}};

enum { FIELDS = sizeof layer_fields / sizeof *layer_fields - 1 };

const ssm2d_field *ssm2d_config_fields(size_t *count)
{
    if (count) *count = FIELDS;
    return layer_fields;
}

static ssm2d_config defaults(void)
{
    ssm2d_config config;
    memset(&config, 0, sizeof config);
    for (int i = 0; i < FIELDS; i++) field_set_default(&layer_fields[i], &config);
    return config;
}

void ssm2d_config_init(ssm2d_config *config, size_t size)
{
    const ssm2d_config all = defaults();
    sized_init(config, size, &all, sizeof all);
}

ssm2d_status config_read(ssm2d_config *full, const ssm2d_config *config, ssm2d_error *error)
{
    static const size_t sizes[] = {sizeof(ssm2d_config), 0}; /* a new version goes to the end */
    if (!config) return fail(error, SSM2D_ERROR_ARGUMENT, "config=NULL: a configuration is needed");
    *full = defaults();
    ssm2d_status status = sized_read(full, config, sizes, "config", error);
    for (int i = 0; i < FIELDS && !status; i++)
        status = field_check((field_source){0}, &layer_fields[i], full, error);
    return status;
}

ssm2d_status ssm2d_config_check(const ssm2d_config *config, ssm2d_error *error)
{
    ssm2d_config full;
    return config_read(&full, config, error);
}

flip config_flip(const ssm2d_config *c, int r)
{
    static const flip four[] = {{0, 0}, {1, 0}, {0, 1}, {1, 1}};
    if (c->directions == 4) return four[r];
    if (r == 0) return four[0];
    return c->pair == SSM2D_PAIR_COLUMNS ? four[2] : four[3];
}
