/* experiment - the tables and figures of the paper, each as a list of rows and columns that say
 * which runs fill its cells.
 *
 * Adding an experiment: a file experiment_NAME.c that defines an `experiment`, a line in
 * experiments.c and one in CMakeLists.txt. An experiment has a form for each scale: `full` is the
 * paper's own setting; `medium` has its models, data and augmentation, and fewer epochs; `small`
 * and `tiny` keep the comparison, and shrink models, images and epochs. A form without columns is
 * missing. */
#ifndef SSM2D_TOOLS_EXPERIMENT_H
#define SSM2D_TOOLS_EXPERIMENT_H

enum { EXPERIMENT_COLUMNS = 10, EXPERIMENT_ROWS = 32 };

typedef enum experiment_scale {
    SCALE_FULL,
    SCALE_MEDIUM,
    SCALE_SMALL,
    SCALE_TINY,
    SCALES
} experiment_scale;

typedef enum column_measure {
    MEASURE_ACCURACY, /* of the last epoch, on test images */
    MEASURE_TOP5
} column_measure;

/* Settings are words for --set, separated by spaces: "pos_embed=false mixer.directions=2". A word
 * behind PAPER_WORD or LIBRARY_WORD applies only in the variants that follow the paper, or only in
 * the library's (published.h). NULL means that there is none, or that another part of the
 * description says it. */
#define PAPER_WORD   "paper:"
#define LIBRARY_WORD "library:"

typedef struct experiment_column {
    const char *label;       /* the list ends without one */
    const char *data;        /* a name of reproduce_data.h; NULL: the row's */
    const char *model;       /* NULL: the row's */
    const char *plain_mixer; /* what the row with mixer `none` has in this column instead */
    const char *recipe;      /* NULL: the form's */
    const char *settings;
    double part; /* of the training images; 0: all */
    column_measure measure;
    /* 1 + the index of the column with a position embedding that this one is compared with in the
     * column delta; 0: it is not */
    int with;
} experiment_column;

typedef struct experiment_row {
    const char *label;
    const char *data, *model; /* NULL: the column's */
    const char *mixer;        /* NULL: the paper's numbers alone, there is nothing to run */
    const char *settings;
    int columns; /* the row has only the first ones; 0: all */
    int plain;   /* the plain model that train times of the rows after it are compared with */
    int matched; /* MLPs are widened until it has as many parameters as the column's largest row */
    const char *paper[EXPERIMENT_COLUMNS]; /* as printed; NULL: not in the paper */
    const char *paper_time, *paper_parameters, *paper_delta;
} experiment_row;

typedef struct experiment_form {
    const char *differs; /* from the paper, as a sentence */
    const char *note;    /* at this scale alone; may be NULL */
    const char *recipe, *settings;
    int published; /* models and training are the paper's: the default variant is its code */
    /* A smaller model that here takes the published settings of another of the paper's models than
     * its name says (published.h); may be NULL. */
    struct {
        const char *model, *paper;
    } stands_for;
    long epochs; /* 0: the recipe's */
    long images; /* to train on at most; 0: all */
    const experiment_column *columns;
    const experiment_row *rows; /* ends without a label */
} experiment_form;

typedef enum experiment_picture {
    PICTURE_NONE,
    PICTURE_PATHS, /* lattice paths, and kernels, which need no run */
    PICTURE_KERNELS,
    PICTURE_CURVES,          /* score over the columns' part of the training images */
    PICTURE_SCATTER,         /* accuracy over training time, parameters and memory */
    PICTURE_RECEPTIVE_FIELDS /* of the first seed's runs */
} experiment_picture;

typedef struct experiment {
    const char *name, *title;
    const char *figure;     /* another name, by the paper's number; may be NULL */
    const char *earlier;    /* what earlier versions called it, in their folders; may be NULL */
    const char *note;       /* on the paper's numbers; may be NULL */
    const char *times_note; /* on its train times, where the table has some; may be NULL */
    int ours;               /* the paper has no such table */
    experiment_scale usual; /* when none is given or stored */
    experiment_picture picture;
    int times, parameters, memory; /* columns of these */
    int deltas; /* a column has the mean difference of columns from those they are `with` */
    experiment_form forms[SCALES];
} experiment;

const experiment *experiment_at(int i); /* NULL past the last */
const char *experiment_name_at(int i);
const experiment *experiment_find(const char *name); /* by its name, or its figure's */
/* Whether it has runs to train. */
int experiment_trains(const experiment *e);
/* Whether its models have published settings, and so variants (published.h). */
int experiment_has_variants(const experiment *e);
const char *experiment_scale_name(int i); /* NULL past the last */
/* The position embedding of the authors' ViT begins as N(0, 1); ours is smaller. */
#define PAPER_POS PAPER_WORD "pos_scale=1"

/* The models of the form `tiny`, as settings. */
#define TINY_VIT  "dim=32 depth=2 heads=2"
#define TINY_MEGA "dim=32 depth=2 z=16 v=32 ffn=32"
#define TINY_SWIN "patch=4 dim=[16,32] depth=[1,1] heads=[2,4]"

/* The layer with complex systems: the form of the authors' code, and ours. */
#define COMPLEX_SYSTEMS PAPER_WORD "mixer.values=cartesian " LIBRARY_WORD "mixer.values=polar"

/* A row that has runs; further members follow as designators. */
#define RUN_ROW(name, of, mixes, own, ...)                                                         \
    {                                                                                              \
        .label = name, .model = of, .mixer = mixes, .settings = own, __VA_ARGS__                   \
    }

/* What all forms of these scales have in common. */
#define MEDIUM_FORM .recipe = "small", .settings = "repeats=1", .epochs = 30
#define MEDIUM_DIFFERS                                                                             \
    "the paper's models, data and augmentation, 30 epochs of one pass over the images instead of " \
    "100 of three"
#define SMALL_FORM .recipe = "quick", .settings = "flip=true crop_padding=4", .epochs = 15
#define TINY_FORM  .recipe = "quick", .settings = "batch=32", .epochs = 2, .images = 2000

#endif
