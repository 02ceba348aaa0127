/* paper_counts - how many parameters the paper's tables print for a model and a mixer. */
#ifndef SSM2D_TOOLS_REPRODUCE_PAPER_COUNTS_H
#define SSM2D_TOOLS_REPRODUCE_PAPER_COUNTS_H

typedef struct paper_count {
    const char *mixer, *settings; /* the settings on top of the model's preset */
    int table;                    /* of the paper; 0: the paper has no such row */
    const char *millions;         /* as it is printed */
    const char *note;             /* where the paper's text and its count disagree; or NULL */
    int unexplained;              /* no setting was found that has so many parameters */
} paper_count;

/* The counts of a model, for so many classes and images of this side (0: the model's own). */
typedef struct paper_model {
    const char *model;
    int classes, image;
    paper_count counts[6]; /* ends without a mixer */
} paper_model;

const paper_model *paper_model_find(const char *model); /* NULL: it is not in the paper */

#endif
