/* export_notes - the metadata of an exported model: the model, the preparation of images, and the
 * names of outputs. */
#ifndef SSM2D_TOOLS_EXPORT_NOTES_H
#define SSM2D_TOOLS_EXPORT_NOTES_H

#include "export/onnx_graph.h"
#include "inference/trained_model.h"

enum { EXPORT_NOTES = 16 };

typedef struct export_notes {
    int count;
    onnx_note list[EXPORT_NOTES];
    char *text[EXPORT_NOTES]; /* of the list, owned */
} export_notes;

/* Describes the data too if the model is that of a run. *notes is zeroed before the call; the
 * caller frees it, also after a failure. */
ssm2d_status export_notes_make(ssm2d_context *context, const ssm2d_model *model,
                               export_notes *notes, ssm2d_error *error);
void export_notes_free(ssm2d_context *context, export_notes *notes);

#endif
