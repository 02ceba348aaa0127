/* export_missing - replaces the exporter in builds without protobuf-c or ONNX's schema. */
#include "export/export_model.h"

#include "core/status.h"

ssm2d_status model_export_available(ssm2d_error *error)
{
    return fail(
        error, SSM2D_ERROR_UNSUPPORTED,
        "this program was built without ONNX: rebuild it where protobuf-c and ONNX's schema "
        "are installed (Debian: protobuf-c-compiler libprotobuf-c-dev libonnx-dev)");
}

ssm2d_status model_export_onnx(ssm2d_context *context, const model_export *what, ssm2d_error *error)
{
    (void)context, (void)what;
    return model_export_available(error);
}
