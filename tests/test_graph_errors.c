/* Errors while building a graph: refusals, and that the first error is reported. In double. */
#include "graph_fixture.h"
#include "graph_helpers.h"

#include "ops/ops.h"

#include <math.h>

static tensor *input(graph *g, int rank, size_t a, size_t b, size_t c, size_t d)
{
    return graph_input(g, "x", rank, (size_t[]){a, b, c, d});
}

static void attention_with(graph *g, tensor *x, int far, int groups)
{
    const float mask[9] = {0, 0, 0, 0, (float)-INFINITY, 0, 0, 0, 0};
    attention_options o = {.heads = 1,
                           .bias = graph_input(g, "table", 1, (size_t[]){3}),
                           .position = (int[]){0, 0, far},
                           .center = 1,
                           .mask = groups ? mask : NULL,
                           .groups = groups};
    attention_of(g, x, x, x, &o);
}

static void attention_in_order(graph *g, tensor *x, const int *order, int groups, int tokens)
{
    attention_of(
        g, x, x, x,
        &(attention_options){.heads = 1, .order = order, .groups = groups, .tokens = tokens});
}

static void attention_with_mask(graph *g, tensor *x, int which)
{
    const float mask[9] = {0};
    attention_of(
        g, x, x, x,
        &(attention_options){.heads = 1, .mask = mask, .masks = 1, .mask_of = &which, .groups = 1});
}

static void overlapping_attention(graph *g)
{
    tensor *x = graph_param(g, spec_of(3, (size_t[]){2, 3, 9}), "qkv");
    tensor *q = columns(g, x, 0, 3), *k = columns(g, x, 3, 3), *v = columns(g, x, 5, 4);
    attention_of(g, q, k, v, &(attention_options){.heads = 1});
}

static void rearrange_to(graph *g, tensor *x, const int *index, size_t count, size_t tokens,
                         size_t groups)
{
    rearrange(g, x, index, count, &(rearrange_shape){2, groups, tokens, 1, {0}});
}

static void refuse(graph *g, int which)
{
    tensor *x = input(g, 3, 2, 3, 4, 0), *flat = input(g, 2, 3, 5, 0, 0);
    switch (which) {
    case 0: add(g, x, flat); break;
    case 1: gate(g, flat, x); break;
    case 2: linear(g, x, flat, NULL); break;
    case 3: attention(g, x, 1); break;
    case 4: attention(g, flat, 1); break;
    case 5: layer_norm(g, x, flat, flat, 1e-5); break;
    case 6: patches(g, x, 2); break;
    case 7: patches(g, input(g, 4, 1, 3, 8, 9), 4); break;
    case 8: take_token(g, x, 3); break;
    case 9: mean_tokens(g, flat); break;
    case 10: embed(g, x, NULL, flat); break;
    case 11: dropout(g, x, 1.5); break;
    case 12: drop_path(g, x, -0.5); break;
    case 13: cross_entropy(g, flat, x); break;
    case 14: bce(g, flat, x); break;
    case 15: input(g, 3, 2, 0, 4, 0); break;
    case 16: input(g, 3, SIZE_MAX / 2, 8, 4, 0); break;
    case 17:
        graph_param(g, spec_of(1, (size_t[]){3}), "w"),
            graph_param(g, spec_of(1, (size_t[]){4}), "w");
        break;
    case 18: embed(g, flat, NULL, NULL); break;
    case 19: patches(g, input(g, 4, 1, 3, 8, 8), 0); break;
    case 20: attention(g, x, 0); break;
    case 21: embed(g, input(g, 4, 2, 3, 4, 5), NULL, NULL); break;
    case 22: cross_entropy(g, flat, graph_param(g, spec_of(2, flat->shape), "labels")); break;
    case 23: bce(g, flat, graph_param(g, spec_of(2, flat->shape), "labels")); break;
    case 29: attention_of(g, x, x, flat, &(attention_options){.heads = 1}); break;
    case 30: attention_of(g, x, x, x, &(attention_options){.heads = 3}); break;
    case 31: attention_with(g, x, 2, 0); break;
    case 32: attention_with(g, x, 0, 3); break;
    case 33: attention_with(g, x, 0, 1); break;
    case 35: rearrange_to(g, x, (int[]){0, 3}, 2, 2, 1); break;
    case 36: rearrange_to(g, x, (int[]){0, -2}, 2, 2, 1); break;
    case 37: rearrange_to(g, x, (int[]){0, 1, 2}, 3, 2, 1); break;
    case 38: rearrange_to(g, x, (int[]){0, 1}, 2, 4, 1); break;
    case 40: scale_shift(g, x, NULL, NULL, 0); break;
    case 41: scale_shift(g, x, flat, NULL, 0); break;
    case 42: scale_shift(g, x, NULL, input(g, 1, 4, 0, 0, 0), 1); break;
    case 43: scale_shift(g, x, scale(g, input(g, 1, 4, 0, 0, 0), 2), NULL, 0); break;
    case 44: attention_in_order(g, x, (int[]){0, 1, 1, 2}, 2, 2); break;
    case 45: attention_in_order(g, x, (int[]){0, 1, 3, 2}, 2, 2); break;
    case 46: attention_in_order(g, x, (int[]){0, -1, 2, -1}, 2, 2); break;
    case 47: attention_in_order(g, x, (int[]){0, 1, 2, -2}, 2, 2); break;
    case 48: attention_in_order(g, x, (int[]){0, 1, 2}, 0, 3); break;
    case 49: attention_with_mask(g, x, 1); break;
    case 39: merge(g, x, 2, 2); break;
    case 34: overlapping_attention(g); break;
    case 25: softmax(g, columns(g, flat, 1, 2)); break;
    case 26: columns(g, flat, 3, 3); break;
    case 27: columns(g, flat, 1, SIZE_MAX); break;
    case 28: columns(g, flat, 2, 0); break;
    case 24: bce(g, flat, scale(g, flat, 2)); break;
    default: graph_fail(g, "the last one"); break;
    }
}

static const char *const words[] = {
    "add",
    "gate",
    "linear",
    "attention",
    "attention",
    "layer_norm",
    "patches",
    "patches",
    "take_token",
    "mean_tokens",
    "embed",
    "dropout",
    "drop_path",
    "cross_entropy",
    "bce",
    "axis 1",
    "axis",
    "w",
    "embed",
    "patches",
    "attention",
    "embed",
    "cross_entropy: targets must be an input",
    "bce: targets must be an input of the graph, not labels",
    "bce: targets must be an input of the graph, not 0:scale",
    "softmax cannot take \"2:columns 1..2 of x\" as its input 0: ",
    "columns",
    "columns",
    "columns",
    "attention: q (2, 3, 4), k (2, 3, 4) and v (3, 5) are not",
    "attention",
    "attention: entries -1 to 3 of a bias that has 3",
    "attention: 2 images cannot have the masks of 3 groups",
    "attention: a mask holds -inf",
    "attention: columns of q, k and v overlap",
    "rearrange: token 1 is to be token 3 of 3",
    "rearrange: token 1 is to be token -2 of 3",
    "rearrange: 3 tokens of each of 2 images in (2, 3, 4) cannot be",
    "rearrange",
    "merge: tokens (2, 3, 4) are not a grid of 2 x 2",
    "scale_shift",
    "scale_shift: input (2, 3, 4) does not fit row 0 of (3, 5)",
    "scale_shift: input (2, 3, 4) does not fit row 1 of (4)",
    "scale_shift: gamma and beta must be",
    "attention: 2 groups of 2 do not have each of 3 tokens once",
    "attention: 2 groups of 2 do not have each of 3 tokens once",
    "attention: 2 groups of 2 do not have each of 3 tokens once",
    "attention: 2 groups of 2 do not have each of 3 tokens once",
    "attention: 0 groups of 3 tokens",
    "attention: group 0 has mask 1 of 1",
    "last"};

static void first_error_is_kept(void **state)
{
    (void)state;
    ssm2d_context *context = context_of(1);
    for (int which = 0; which < (int)(sizeof words / sizeof *words); which++) {
        graph *g = graph_of(context, 1);
        refuse(g, which);
        if (!g->status) fail_msg("nobody refused %d, %s", which, words[which]);
        const int nodes = g->node_count;
        refuse(g, (which + 1) % 15); /* with NULL all over */
        tensor *x = gelu(g, NULL);
        x = add(g, x, softmax(g, sigmoid(g, silu(g, x))));
        assert_null(scale(g, x, 2));
        assert_int_equal(g->node_count, nodes);
        ssm2d_error error = {""};
        assert_int_equal(graph_finish(g, NULL, &error), SSM2D_ERROR_ARGUMENT);
        says(&error, words[which], "");
        graph_destroy(g);
    }
    ssm2d_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_error_is_kept),
    };
    skip_without_cpu();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
