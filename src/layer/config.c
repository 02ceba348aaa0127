#include "layer/config.h"

#include "core/status.h"

#include <string.h>

/* Large enough for anything sensible, small enough that products of three fit size_t with room. */
enum {
    MOST_CHANNELS = 1 << 20,
    MOST_STATE = 1 << 12,
    MOST_SYSTEMS = 1 << 16,
    MOST_TRUNC = 1 << 20
};

static const char *const flag_names[] = {"false", "true"};
static const char *const pair_names[] = {"both", "columns"};
static const char *const norm_names[] = {"none", "half", "relaxed", "paper"};
static const char *const values_names[] = {"real", "polar", "cartesian"};
static const int directions_allowed[] = {1, 2, 4, 0};

#define NUMBER(name, low, high, standard, help)                                                    \
    {                                                                                              \
#name, help, offsetof(ssm2d_config, name), low, high, standard, NULL, NULL                 \
    }
#define CHOICE(name, names, standard, help)                                                        \
    {                                                                                              \
#name, help, offsetof(ssm2d_config, name), 0, (int)(sizeof names / sizeof *names) - 1,     \
            standard, names, NULL                                                                  \
    }
#define FLAG(name, standard, help) CHOICE(name, flag_names, standard, help)

static const ssm2d_field fields[] = {
    NUMBER(channels, 1, MOST_CHANNELS, 0, "channels of the input, each filtered by itself"),
    NUMBER(d_state, 1, MOST_STATE, 16, "coordinates of a system's state"),
    NUMBER(n_ssm, 1, MOST_SYSTEMS, 8, "systems per direction; channels take turns"),
    {"directions", "corners of the image the layer looks towards: 1, 2 or 4",
     offsetof(ssm2d_config, directions), 1, 4, 2, NULL, directions_allowed},
    CHOICE(pair, pair_names, SSM2D_PAIR_BOTH,
           "what the second of two directions mirrors: both axes, or columns only"),
    FLAG(average, 0, "directions are averaged, not summed"),
    CHOICE(norm, norm_names, SSM2D_NORM_RELAXED, "normalisation of the recursion"),
    CHOICE(values, values_names, SSM2D_REAL,
           "numbers of the systems: real, or complex in one of two forms"),
    FLAG(share_directions, 0, "every direction uses the same systems"),
    FLAG(c_per_channel, 0, "C for each direction and channel, not for each system"),
    FLAG(skip, 1, "adds D times the input"),
    FLAG(layer_norm, 0, "LayerNorm over channels at the end"),
    NUMBER(trunc_rows, 0, MOST_TRUNC, 0, "cuts the kernel to this many rows; 0: all"),
    NUMBER(trunc_cols, 0, MOST_TRUNC, 0, "cuts the kernel to this many columns; 0: all"),
};

enum { FIELDS = sizeof fields / sizeof *fields };

const ssm2d_field *ssm2d_config_fields(size_t *count)
{
    if (count) *count = FIELDS;
    return fields;
}

ssm2d_config ssm2d_config_default(void)
{
    ssm2d_config config;
    memset(&config, 0, sizeof config);
    for (int i = 0; i < FIELDS; i++)
        memcpy((char *)&config + fields[i].offset, &fields[i].standard, sizeof(int));
    return config;
}

ssm2d_status ssm2d_config_check(const ssm2d_config *config, ssm2d_error *error)
{
    if (!config) return fail(error, SSM2D_ERROR_ARGUMENT, "config=NULL: a configuration is needed");
    for (int i = 0; i < FIELDS; i++) {
        const ssm2d_field *f = &fields[i];
        int value;
        memcpy(&value, (const char *)config + f->offset, sizeof value);
        if (value < f->minimum || value > f->maximum)
            return fail(error, SSM2D_ERROR_ARGUMENT, "%s=%d: use %d to %d", f->name, value,
                        f->minimum, f->maximum);
        if (!f->allowed) continue;
        const int *a = f->allowed;
        while (*a && *a != value) a++;
        if (!*a) return fail(error, SSM2D_ERROR_ARGUMENT, "%s=%d: use 1, 2 or 4", f->name, value);
    }
    return SSM2D_OK;
}

int config_systems(const ssm2d_config *c)
{
    return c->share_directions ? c->n_ssm : c->directions * c->n_ssm;
}

int config_c_rows(const ssm2d_config *c)
{
    return (c->share_directions ? 1 : c->directions) * (c->c_per_channel ? c->channels : c->n_ssm);
}

flip config_flip(const ssm2d_config *c, int r)
{
    static const flip four[] = {{0, 0}, {1, 0}, {0, 1}, {1, 1}};
    if (c->directions == 4) return four[r];
    if (r == 0) return four[0];
    return c->pair == SSM2D_PAIR_COLUMNS ? four[2] : four[3];
}
