#include "paper_counts.h"

#include <stddef.h>
#include <string.h>

#define POLAR "values=polar"

static const char vit_note[] =
    "the paper's text has n_ssm 8 and d_state 16, which with 4 directions is K*N = 512; by its "
    "count K*N is 128, as if the directions shared their systems";
static const char deit_note[] =
    "the paper's text has n_ssm 8 and d_state 16, which with 4 directions is K*N = 512; by its "
    "count K*N is 32";
static const char swin_note[] =
    "the paper's text has no C per direction and channel, and n_ssm 8 and d_state 16; by its count "
    "of the real layer there is a C for each, with d_state 4";
static const char swin_complex_note[] =
    "the paper's count is 0.01 M more than that of the real layer, where a complex one has twice "
    "the parameters";
static const char swin_s4nd_note[] =
    "the paper's count is 0.03 M more than that of the plain model, where S4ND with n_ssm 8 and "
    "d_state 16 has 0.012 M parameters";
static const char swin_t_note[] =
    "the paper's text has n_ssm 8 and d_state 16, which with 4 directions is K*N = 512; by its "
    "count K*N is 16";
static const char mega_note[] =
    "the paper prints 11,000 parameters less than the authors' model has, in this row alone";
static const char mega_s4nd_note[] =
    "the paper's count is 0.05 M more than that of the plain model, where S4ND with n_ssm 8 and "
    "d_state 16 has 0.009 M parameters";

static const paper_model models[] = {
    {"vit",
     100,
     0,
     {{"none", "", 1, "2.71", NULL, 0},
      {"s4nd", "", 1, "2.72", NULL, 0},
      {"ssm2d", "", 1, "2.72", vit_note, 0},
      {"ssm2d", POLAR, 1, "2.73", vit_note, 0}}},
    {"deit-t",
     40,
     0,
     {{"none", "", 2, "5.532", NULL, 0},
      {"ssm2d", "", 2, "5.537", deit_note, 0},
      {"ssm2d", POLAR, 2, "5.541", deit_note, 0}}},
    {"deit-s",
     40,
     0,
     {{"none", "", 2, "21.681", NULL, 0},
      {"ssm2d", "", 2, "21.688", deit_note, 0},
      {"ssm2d", POLAR, 2, "21.691", deit_note, 0}}},
    {"deit-b",
     40,
     0,
     {{"none", "", 2, "85.829", NULL, 0},
      {"ssm2d", "", 2, "85.841", deit_note, 0},
      {"ssm2d", POLAR, 2, "85.845", deit_note, 0}}},
    {"swin",
     200,
     64,
     {{"none", "", 1, "7.15", NULL, 0},
      {"ema", "", 1, "7.52", NULL, 0},
      {"s4nd", "", 1, "7.18", swin_s4nd_note, 1},
      {"ssm2d", "", 1, "7.25", swin_note, 0},
      {"ssm2d", POLAR, 1, "7.26", swin_complex_note, 1}}},
    {"swin-t",
     40,
     0,
     {{"none", "", 2, "27.550", NULL, 0},
      {"ssm2d", "", 2, "27.556", swin_t_note, 0},
      {"ssm2d", POLAR, 2, "27.558", swin_t_note, 0}}},
    {"mega",
     100,
     0,
     {{"none", "", 1, "2.75", mega_note, 0},
      {"ema", "", 1, "2.98", NULL, 0},
      {"s4nd", "", 1, "2.80", mega_s4nd_note, 1},
      {"ssm2d", "", 1, "2.80", NULL, 0},
      {"ssm2d", POLAR, 1, "2.84", NULL, 0}}},
    {"mega-t",
     1000,
     0,
     {{"none", "", 4, "5.91", NULL, 0},
      {"ema", "", 4, "6.21", NULL, 0},
      {"ssm2d", "", 4, "5.96", NULL, 0}}},
};

const paper_model *paper_model_find(const char *model)
{
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (!strcmp(models[i].model, model)) return &models[i];
    return NULL;
}
