#include "setting_hint.h"

#include "core/field.h"
#include "data/augmentation.h"
#include "train/settings.h"

#include <stdio.h>
#include <string.h>

int setting_is_named(const char *written, const char *setting)
{
    while (*written && (*written == *setting || (*written == '-' && *setting == '_')))
        written++, setting++;
    return !*written && !*setting;
}

static int copy_key(const char *name, char key[OPTION_KEY])
{
    snprintf(key, OPTION_KEY, "%s", name);
    return 1;
}

/* Accepts the full name, or that of a mixer's setting without "mixer.". */
int setting_of_model(const char *name, char key[OPTION_KEY], int *flag)
{
    train_settings s;
    char known[MODEL_KEY];
    const char *help;
    *flag = 0;
    if (train_settings_default(&s, NULL)) return 0;
    for (int i = 0; model_config_key(&s.model, i, known, &help); i++) {
        const char *dot = strchr(known, '.');
        if (setting_is_named(name, known) || (dot && setting_is_named(name, dot + 1)))
            return copy_key(known, key);
    }
    return 0;
}

int setting_of_run(const char *name, char key[OPTION_KEY], int *flag)
{
    const augmentation *a;
    for (int i = 0; (a = augmentation_at(i)); i++)
        for (const ssm2d_field *f = a->fields; f->name; f++)
            if (setting_is_named(name, f->name)) {
                *flag = f->kind == SSM2D_KIND_FLAG;
                return copy_key(f->name, key);
            }
    return setting_of_model(name, key, flag);
}
