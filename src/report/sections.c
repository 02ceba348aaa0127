/* The table of sections: to add one, write a file, and name it here. */
#include "report/section.h"

static const section *const sections[] = {
    &section_results, &section_curves, &section_confusion, &section_classes,  &section_wrong,
    &section_kernels, &section_fields, &section_operators, &section_settings, &section_environment,
};

const section *section_at(int i)
{
    return i < (int)(sizeof sections / sizeof *sections) ? sections[i] : NULL;
}
