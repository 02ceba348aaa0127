#include "generate.h"

#include "core/field.h"
#include "core/status.h"
#include "help.h"
#include "io/file.h"
#include "io/text.h"

#include <errno.h>
#include <string.h>

enum { PATH = 4096 };

static const ssm2d_field *field_of(const option *o)
{
    return o->fields ? field_find(o->fields, o->name) : NULL;
}

offer offer_of(const option *o)
{
    static const char *const files[] = {"FILE", "DIR", "RUN", "DATA"};
    const ssm2d_field *f = field_of(o);
    if (o->choice || o->offers || (f && f->kind == SSM2D_KIND_CHOICE)) return OFFER_NAMES;
    if (f) return f->kind == SSM2D_KIND_TEXT ? OFFER_FILES : OFFER_NOTHING;
    if (o->kind != OPTION_STRING && o->kind != OPTION_LIST) return OFFER_NOTHING;
    if (o->positional) return OFFER_FILES;
    for (size_t i = 0; o->value && i < sizeof files / sizeof *files; i++)
        if (!strcmp(o->value, files[i])) return OFFER_FILES;
    return OFFER_NOTHING;
}

const char *offer_name(const option *o, int i)
{
    return o->choice ? o->choice(i) : o->offers ? o->offers(i) : field_of(o)->names[i];
}

void each_command(const command *const *commands, void (*visit)(FILE *out, const command *c),
                  FILE *out)
{
    for (; *commands; commands++)
        if ((*commands)->parts)
            each_command((*commands)->parts, visit, out);
        else
            visit(out, *commands);
}

static ssm2d_status open_file(const char *folder, const char *name, FILE **out, char path[PATH],
                              ssm2d_error *error)
{
    const int length = snprintf(path, PATH, "%s/%s", folder, name);
    if (length < PATH) return file_append(path, 1, out, error);
    return fail(error, SSM2D_ERROR_ARGUMENT, "%s: the name is too long", text_path(folder));
}

static ssm2d_status close_file(FILE *out, const char *path, ssm2d_error *error)
{
    const int bad = ferror(out);
    if (!fclose(out) && !bad) return SSM2D_OK;
    return fail(error, SSM2D_ERROR_SYSTEM, "%s: cannot be written: %s", text_path(path),
                strerror(errno));
}

/* ssm2d-bench-layer.1 for "bench layer". */
static ssm2d_status man_page(const char *folder, const command *c, ssm2d_error *error)
{
    char name[128], path[PATH];
    FILE *out;
    snprintf(name, sizeof name, "ssm2d-%s.1", c->name);
    for (char *s = name; *s; s++)
        if (*s == ' ') *s = '-';
    ssm2d_status status = open_file(folder, name, &out, path, error);
    if (status) return status;
    man_command(out, c);
    return close_file(out, path, error);
}

static ssm2d_status man_pages(const char *folder, const command *const *commands,
                              ssm2d_error *error)
{
    ssm2d_status status = SSM2D_OK;
    for (; *commands && !status; commands++) {
        status = man_page(folder, *commands, error);
        if (!status && (*commands)->parts) status = man_pages(folder, (*commands)->parts, error);
    }
    return status;
}

ssm2d_status generate(const char *kind, const char *folder, const command *const *commands,
                      ssm2d_error *error)
{
    static const struct {
        const char *kind, *file;
        void (*write)(FILE *out, const command *const *commands);
    } kinds[] = {{"man", "ssm2d.1", man_overall},
                 {"bash", "ssm2d", complete_bash},
                 {"zsh", "_ssm2d", complete_zsh},
                 {"fish", "ssm2d.fish", complete_fish}};
    char path[PATH];
    FILE *out;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i].kind, kind)) continue;
        ssm2d_status status = open_file(folder, kinds[i].file, &out, path, error);
        if (status) return status;
        kinds[i].write(out, commands);
        status = close_file(out, path, error);
        return status || strcmp(kind, "man") ? status : man_pages(folder, commands, error);
    }
    return fail(error, SSM2D_ERROR_ARGUMENT, "--generate=%.20s: use man, bash, zsh or fish", kind);
}
