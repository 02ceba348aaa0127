/* Random augmentations: the frequency and the range of their operations. */
#include "policy_helpers.h"

#include "data/pixel_ops.h"

/* ---- rectangles ------------------------------------------------------------------------------ */

static resize_region whole(size_t rows, size_t cols)
{
    return (resize_region){.rows = rows, .cols = cols, .resized_rows = 224, .resized_cols = 224};
}

static void resized_crops_are_uniform(void **state)
{
    (void)state;
    enum { N = 20000, SIDE = 2000 };
    chosen c;
    choose_augmentation(&c, "resized_crop", "resized_crop=0.08");
    const decode_sizes sizes = {SIDE, SIDE, 224, 224};
    uniformity areas = {{0}}, ratios = {{0}}, tops = {{0}}, lefts = {{0}};
    for (uint64_t i = 0; i < N; i++) {
        resize_region g = whole(SIDE, SIDE);
        rng r = rng_of(&c, i);
        c.what->run.decode(c.options, &r, &sizes, &g);
        assert_true(g.top + g.rows <= SIDE && g.left + g.cols <= SIDE);
        const double area = (double)g.rows * (double)g.cols / SIDE / SIDE;
        const double ratio = log((double)g.cols / (double)g.rows) / log(4.0 / 3);
        assert_true(area > 0.0795 && area <= 1 && fabs(ratio) < 1.01);
        if (area > 0.7) continue; /* these may not fit, and are redrawn */
        uniformity_add(&areas, fmin(fmax((area - 0.08) / 0.62, 0), 1));
        uniformity_add(&ratios, fmin(fmax((ratio + 1) / 2, 0), 1));
        if (g.rows < SIDE) uniformity_add(&tops, (double)g.top / (double)(SIDE - g.rows));
        if (g.cols < SIDE) uniformity_add(&lefts, (double)g.left / (double)(SIDE - g.cols));
    }
    /* an area a above 3/4 fits with probability -log a / log 4/3 */
    const double fitting = 0.67 + (0.25 + 0.75 * log(0.75)) / log(4.0 / 3);
    assert_rate(areas.count, N, 0.62 / fitting);
    assert_uniform(&areas);
    assert_uniform(&ratios);
    assert_uniform(&tops);
    assert_uniform(&lefts);
}

/* For an image so narrow that no crop fits, the centre is used. */
static void narrow_images_are_cropped_at_the_centre(void **state)
{
    (void)state;
    chosen c;
    choose_augmentation(&c, "resized_crop", "resized_crop=1");
    const decode_sizes tall = {1000, 30, 224, 224}, wide = {30, 1000, 224, 224};
    resize_region g = whole(1000, 30);
    rng r = rng_of(&c, 0);
    c.what->run.decode(c.options, &r, &tall, &g);
    assert_true(g.rows == 40 && g.cols == 30 && g.top == 480 && g.left == 0);
    g = whole(30, 1000);
    c.what->run.decode(c.options, &r, &wide, &g);
    assert_true(g.rows == 30 && g.cols == 40 && g.top == 0 && g.left == 480);
}

/* As torchvision: Resize(256) and CenterCrop(224), with Python's rounding of halves. */
static void evaluation_crops_the_centre(void **state)
{
    (void)state;
    static const struct {
        size_t rows, cols, resized_rows, resized_cols, top, left;
    } cases[] = {{375, 500, 256, 341, 16, 58},
                 {500, 375, 341, 256, 58, 16},
                 {224, 224, 256, 256, 16, 16},
                 {64, 65, 256, 260, 16, 18},
                 {1, 3000, 256, 65536, 16, 32656}};
    chosen c;
    choose_augmentation(&c, "eval_crop", "eval_crop=0.875");
    assert_int_equal(c.what->when, AUGMENT_TRAINING | AUGMENT_EVALUATION);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const decode_sizes sizes = {cases[i].rows, cases[i].cols, 224, 224};
        resize_region g = whole(cases[i].rows, cases[i].cols);
        rng r = rng_of(&c, i);
        c.what->run.decode(c.options, &r, &sizes, &g);
        assert_true(g.rows == cases[i].rows && g.cols == cases[i].cols);
        assert_int_equal(g.resized_rows, cases[i].resized_rows);
        assert_int_equal(g.resized_cols, cases[i].resized_cols);
        assert_int_equal(g.window_top, cases[i].top);
        assert_int_equal(g.window_left, cases[i].left);
    }
}

static void small_eval_crop_is_refused(void **state)
{
    (void)state;
    augment_options o = augment_options_default();
    assert_int_equal(augment_options_set(&o, "eval_crop", "0.05", &error), SSM2D_OK);
    assert_int_equal(augment_options_check(&o, &error), SSM2D_ERROR_ARGUMENT);
    assert_line("eval_crop=0.05: use 0, or a number from 0.1 to 1");
}

/* ---- operations ------------------------------------------------------------------------------ */

enum { ROWS = 12, COLS = 10, SIZE = ROWS * COLS * 3, MAX_RESULTS = 1024 };

/* The possible results for an image, and their probabilities. */
typedef struct results {
    struct {
        uint64_t hash;
        double probability;
        long count;
    } list[MAX_RESULTS];
    int count;
} results;

static void make_image(uint8_t *pixels)
{
    rng r = rng_seed(3);
    for (int i = 0; i < SIZE; i++) pixels[i] = (uint8_t)(20 + i / 2 + (int)rng_below(&r, 40));
}

static uint64_t hash_of(const uint8_t *pixels)
{
    uint64_t hash = 14695981039346656037u;
    for (int i = 0; i < SIZE; i++) hash = (hash ^ pixels[i]) * 1099511628211u;
    return hash;
}

static int find_result(results *all, uint64_t hash)
{
    int i = 0;
    while (i < all->count && all->list[i].hash != hash) i++;
    assert_true(i < MAX_RESULTS);
    return i;
}

static void expect(results *all, const uint8_t *pixels, double probability)
{
    const int i = find_result(all, hash_of(pixels));
    all->list[i].hash = hash_of(pixels);
    all->list[i].probability += probability;
    all->count += i == all->count;
}

/* Draws n times, and compares how often each result occurred. */
static void draw_results(const chosen *c, results *all, long n, const uint8_t fill[3])
{
    double sum = 0;
    for (int i = 0; i < all->count; i++) sum += all->list[i].probability;
    assert_true(fabs(sum - 1) < 1e-9);
    for (long k = 0; k < n; k++) {
        uint8_t memory[2 * SIZE];
        pixel_image image = {ROWS, COLS, 3, memory, memory + SIZE, {fill[0], fill[1], fill[2]}};
        make_image(memory);
        rng r = rng_of(c, (uint64_t)k);
        c->what->run.pixels(c->options, &r, &image);
        const int i = find_result(all, hash_of(image.pixels));
        if (i == all->count) fail_msg("draw %ld gave an image that no operation can give", k);
        all->list[i].count++;
    }
    for (int i = 0; i < all->count; i++)
        assert_rate(all->list[i].count, n, all->list[i].probability);
}

static const char cifar[] =
    ".1 invert 7|.2 contrast 6;.7 rotate 2|.3 transX 9;.8 sharp 1|.9 sharp 3;"
    ".5 shearY 8|.7 transY 9;.5 autocon 8|.9 equal 2;.2 shearY 7|.3 poster 7;"
    ".4 color 3|.6 bright 7;.3 sharp 9|.7 bright 9;.6 equal 5|.5 equal 1;"
    ".6 contrast 7|.6 sharp 5;.7 color 7|.5 transX 8;.3 equal 7|.4 autocon 8;"
    ".4 transY 3|.2 sharp 6;.9 bright 6|.2 color 8;.5 solar 2|.0 invert 3;"
    ".2 equal 0|.6 autocon 0;.2 equal 8|.6 equal 4;.9 color 9|.6 equal 6;"
    ".8 autocon 4|.2 solar 8;.1 bright 3|.7 color 0;.4 solar 5|.9 autocon 3;"
    ".9 transY 9|.7 transY 9;.9 autocon 2|.8 solar 3;.8 equal 8|.1 invert 3;"
    ".7 transY 9|.9 autocon 1;";
static const char imagenet[] =
    ".4 poster 8|.6 rotate 9;.6 solar 5|.6 autocon 5;.8 equal 8|.6 equal 3;"
    ".6 poster 7|.6 poster 6;.4 equal 7|.2 solar 4;.4 equal 4|.8 rotate 8;"
    ".6 solar 3|.6 equal 7;.8 poster 5|1 equal 2;.2 rotate 3|.6 solar 8;"
    ".6 equal 8|.4 poster 6;.8 rotate 8|.4 color 0;.4 rotate 9|.6 equal 2;"
    ".0 equal 7|.8 equal 8;.6 invert 4|1 equal 8;.6 color 4|1 contrast 8;"
    ".8 rotate 8|1 color 2;.8 color 8|.8 solar 7;.4 sharp 7|.6 invert 8;"
    ".6 shearX 5|1 equal 9;.4 color 0|.6 equal 3;.4 equal 7|.2 solar 4;"
    ".6 solar 5|.6 autocon 5;.6 invert 4|1 equal 8;.6 color 4|1 contrast 8;"
    ".8 equal 8|.6 equal 3;";

/* The values that an operation of a policy may have: one, or two with the same probability. */
static pixel_op values_of(const char *word, int m, double values[2])
{
    static const struct {
        const char *word;
        pixel_op op;
        double scale; /* of a value with a random sign, per magnitude */
        double about;
    } names[] = {{"shearX", OP_SHEAR_X, 0.3 / 9, 0},
                 {"shearY", OP_SHEAR_Y, 0.3 / 9, 0},
                 {"transX", OP_TRANSLATE_X, 150.0 / 331 / 9, 0},
                 {"transY", OP_TRANSLATE_Y, 150.0 / 331 / 9, 0},
                 {"color", OP_COLOR, 0.1, 1},
                 {"contrast", OP_CONTRAST, 0.1, 1},
                 {"bright", OP_BRIGHTNESS, 0.1, 1},
                 {"sharp", OP_SHARPNESS, 0.1, 1},
                 {"rotate", OP_ROTATE, 0, 0},
                 {"poster", OP_POSTERIZE, 0, 0},
                 {"solar", OP_SOLARIZE, 0, 0},
                 {"autocon", OP_AUTOCONTRAST, 0, 0},
                 {"equal", OP_EQUALIZE, 0, 0},
                 {"invert", OP_INVERT, 0, 0}};
    size_t i = 0;
    while (strcmp(names[i].word, word)) assert_true(++i < sizeof names / sizeof *names);
    values[0] = names[i].about + names[i].scale * m;
    values[1] = names[i].about - names[i].scale * m;
    if (names[i].op == OP_ROTATE) values[0] = values[1] = 30.0 * m / 9;
    if (names[i].op == OP_POSTERIZE) values[0] = values[1] = 8 - m / 2;
    if (names[i].op == OP_SOLARIZE) values[0] = values[1] = 256 * (1 - m / 9.0);
    return names[i].op;
}

/* All possible results of a pair of operations. */
static void expect_pair(results *all, const char *text)
{
    char words[2][16];
    double p[2], values[2][2];
    int m[2];
    assert_int_equal(
        sscanf(text, "%lf %15s %d|%lf %15s %d;", &p[0], words[0], &m[0], &p[1], words[1], &m[1]),
        6);
    const pixel_op ops[2] = {values_of(words[0], m[0], values[0]),
                             values_of(words[1], m[1], values[1])};
    for (int first = -1; first < 2; first++) /* -1: not applied, else which value */
        for (int second = -1; second < 2; second++) {
            uint8_t memory[2 * SIZE];
            pixel_image image = {ROWS, COLS, 3, memory, memory + SIZE, {0}};
            make_image(memory);
            if (first >= 0) pixel_op_apply(ops[0], values[0][first], &autoaugment_sampling, &image);
            if (second >= 0)
                pixel_op_apply(ops[1], values[1][second], &autoaugment_sampling, &image);
            expect(all, image.pixels,
                   (first < 0 ? 1 - p[0] : p[0] / 2) * (second < 0 ? 1 - p[1] : p[1] / 2) / 25);
        }
}

static void autoaugment_follows_its_policies(void **state)
{
    (void)state;
    static const uint8_t fill[3] = {1, 2, 3}; /* which AutoAugment does not use */
    static const struct {
        const char *setting, *policy;
    } cases[] = {{"autoaugment=cifar", cifar}, {"autoaugment=imagenet", imagenet}};
    for (int k = 0; k < 2; k++) {
        static results all;
        chosen c;
        int pairs = 0;
        all.count = 0;
        memset(&all, 0, sizeof all);
        choose_augmentation(&c, "autoaugment", cases[k].setting);
        for (const char *at = cases[k].policy; *at; at = strchr(at, ';') + 1, pairs++)
            expect_pair(&all, at);
        assert_int_equal(pairs, 25);
        draw_results(&c, &all, 60000, fill);
    }
}

/* One operation at a fixed magnitude: each of 15, half of the time, with both signs. */
static void randaugment_draws_every_operation(void **state)
{
    (void)state;
    static const struct {
        pixel_op op;
        double values[2];
    } ops[] = {{OP_AUTOCONTRAST, {0, 0}},
               {OP_EQUALIZE, {0, 0}},
               {OP_INVERT, {0, 0}},
               {OP_ROTATE, {27, -27}},
               {OP_POSTERIZE, {1, 1}},
               {OP_SOLARIZE, {26, 26}},
               {OP_SOLARIZE_ADD, {99, 99}},
               {OP_COLOR, {1.81, 0.19}},
               {OP_CONTRAST, {1.81, 0.19}},
               {OP_BRIGHTNESS, {1.81, 0.19}},
               {OP_SHARPNESS, {1.81, 0.19}},
               {OP_SHEAR_X, {0.27, -0.27}},
               {OP_SHEAR_Y, {0.27, -0.27}},
               {OP_TRANSLATE_X, {0.405, -0.405}},
               {OP_TRANSLATE_Y, {0.405, -0.405}}};
    static results all;
    const pixel_sampling sampling = {AFFINE_BICUBIC, AFFINE_BICUBIC, AFFINE_BICUBIC, {9, 8, 7}};
    chosen c;
    choose_augmentation(&c, "randaugment", "randaugment=1 randaugment_std=0");
    for (int i = -1; i < 30; i++) {
        uint8_t memory[2 * SIZE];
        pixel_image image = {ROWS, COLS, 3, memory, memory + SIZE, {0}};
        make_image(memory);
        if (i >= 0) pixel_op_apply(ops[i / 2].op, ops[i / 2].values[i % 2], &sampling, &image);
        expect(&all, image.pixels, i < 0 ? 0.5 : 1.0 / 60);
    }
    draw_results(&c, &all, 60000, sampling.fill);
}

/* The value that solarize-add adds shows the magnitude: int(11 m). */
static void randaugment_varies_its_magnitude(void **state)
{
    (void)state;
    chosen c;
    choose_augmentation(&c, "randaugment", "randaugment=1 randaugment_probability=1");
    double sum = 0, squares = 0;
    long n = 0, at_end = 0;
    for (uint64_t i = 0; i < 60000; i++) {
        uint8_t memory[6] = {0, 3, 0};
        pixel_image image = {1, 3, 1, memory, memory + 3, {0}};
        rng r = rng_of(&c, i);
        c.what->run.pixels(c.options, &r, &image);
        const int added = image.pixels[0];
        if (image.pixels[2] != added || image.pixels[1] != added + 3) continue;
        if (added < 60 || added > 110) continue; /* it was another operation */
        sum += added;
        squares += added * added;
        at_end += added == 110;
        n++;
    }
    assert_rate(n, 60000, 1.0 / 15);
    assert_rate(at_end, n, 0.0228); /* a normal number that is two deviations above or more */
    assert_moments(sum, squares, n, 98.4, 28.5);
}

/* ---- erasing --------------------------------------------------------------------------------- */

/* Clipped noise is the same noise, except for values beyond the bound. */
static void erasing_clips_noise(void **state)
{
    (void)state;
    enum { SIDE = 32, COUNT = SIDE * SIDE };
    float free_noise[COUNT] = {0}, clipped[COUNT] = {0};
    chosen c;
    long beyond = 0;
    for (uint64_t i = 0; i < 50; i++)
        for (int clips = 0; clips < 2; clips++) {
            float *noise_values = clips ? clipped : free_noise;
            choose_augmentation(&c, "erasing",
                                clips ? "erasing=1 erasing_fill=pixel erasing_clip=1.5"
                                      : "erasing=1 erasing_fill=pixel");
            float_image image = {SIDE, SIDE, 1, noise_values};
            rng r = rng_of(&c, i);
            c.what->run.floats(c.options, &r, &image);
            for (int k = 0; clips && k < COUNT; k++) {
                beyond += fabsf(free_noise[k]) > 1.5f;
                assert_true(clipped[k] == fminf(fmaxf(free_noise[k], -1.5f), 1.5f));
            }
        }
    assert_true(beyond > 100);
}

static void erasing_draws_rectangles(void **state)
{
    (void)state;
    enum { SIDE = 64, PLANE = SIDE * SIDE, N = 6000 };
    static float noise_values[3 * PLANE];
    for (int noise = 0; noise < 2; noise++) {
        chosen c;
        choose_augmentation(&c, "erasing",
                            noise ? "erasing=0.25 erasing_fill=pixel erasing_ratio=log-uniform "
                                    "erasing_area=0.3333333333333333 erasing_tries=10"
                                  : "erasing=0.25");
        const double max_area = noise ? 1.0 / 3 : 0.4;
        uniformity areas = {{0}}, tops = {{0}};
        double sum = 0, squares = 0;
        long erased = 0, values = 0, tall = 0;
        for (uint64_t i = 0; i < N; i++) {
            for (int k = 0; k < 3 * PLANE; k++) noise_values[k] = 9;
            float_image image = {SIDE, SIDE, 3, noise_values};
            rng r = rng_of(&c, i);
            c.what->run.floats(c.options, &r, &image);
            int first = 0, last = PLANE - 1, inside = 0;
            while (first < PLANE && noise_values[first] == 9) first++;
            if (first == PLANE) continue;
            while (noise_values[last] == 9) last--;
            const int top = first / SIDE, left = first % SIDE, rows = last / SIDE - top + 1,
                      cols = last % SIDE - left + 1;
            for (int k = 0; k < 3 * PLANE; k++) {
                const int y = k / SIDE % SIDE - top, x = k % SIDE - left;
                const int in = y >= 0 && y < rows && x >= 0 && x < cols;
                assert_true((noise_values[k] != 9) == in);
                inside += in;
                if (!in) continue;
                assert_true(noise || noise_values[k] == 0);
                sum += (double)noise_values[k];
                squares += (double)noise_values[k] * (double)noise_values[k];
                values++;
            }
            erased++;
            const double area = inside / 3.0 / PLANE, ratio = (double)rows / cols;
            assert_true(ratio > 0.25 && ratio < 4); /* sides are rounded */
            if (rows < SIDE) uniformity_add(&tops, (double)top / (SIDE - rows));
            if (area < 0.25) /* larger ones do not always fit */
                uniformity_add(&areas, fmin(fmax((area - 0.02) / 0.23, 0), 1));
            assert_true(area < max_area + 0.02);
            tall += rows > cols;
        }
        assert_rate(erased, N, 0.25);
        assert_uniform(&tops);
        for (int i = 0; i < 10; i++) assert_rate(areas.bins[i], areas.count, 0.1);
        if (noise)
            assert_moments(sum, squares, values, 0, 1);
        else /* a uniform ratio is above 1 in 2.333 of 3.033 cases */
            assert_true((double)tall / (double)erased > 0.68);
        if (noise) assert_true((double)tall / (double)erased < 0.55);
    }
}

/* ---- mixing ---------------------------------------------------------------------------------- */

enum { BATCH = 6, MIX_ROWS = 8, MIX_COLS = 10, MIX_SIZE = MIX_ROWS * MIX_COLS * 2 };

typedef struct mixed {
    float images[BATCH * MIX_SIZE], targets[BATCH * BATCH];
} mixed;

/* A batch in which every element of image i is i, and its class is i. */
static void mix_batch(const chosen *c, uint64_t number, mixed *m)
{
    static mixed scratch;
    static uint32_t partners[BATCH];
    for (int i = 0; i < BATCH; i++) {
        for (int k = 0; k < MIX_SIZE; k++) m->images[i * MIX_SIZE + k] = (float)i;
        for (int k = 0; k < BATCH; k++) m->targets[i * BATCH + k] = i == k;
    }
    float_batch b = {.count = BATCH,
                     .rows = MIX_ROWS,
                     .cols = MIX_COLS,
                     .own = {0, BATCH},
                     .channels = 2,
                     .elements = BATCH,
                     .images = m->images,
                     .targets = m->targets,
                     .scratch_images = scratch.images,
                     .scratch_targets = scratch.targets,
                     .partners = partners};
    rng r = rng_of(c, number);
    c->what->run.batch(c->options, &r, &b);
}

/* What happened to a batch: which partners, the weight, and whether a box was pasted. */
typedef struct mixing {
    int partner[BATCH], cut, none;
    double lambda;
} mixing;

static mixing look_at(const mixed *m)
{
    mixing out = {.lambda = 1, .none = 1};
    for (int i = 0; i < BATCH; i++) {
        const float *target = m->targets + i * BATCH, *image = m->images + i * MIX_SIZE;
        double sum = 0, mean = 0, expected = 0;
        int whole = 1;
        out.partner[i] = i;
        for (int k = 0; k < BATCH; k++) {
            sum += (double)target[k];
            expected += (double)target[k] * k;
            if (k != i && target[k] > 0) out.partner[i] = k, out.lambda = (double)target[i];
        }
        for (int k = 0; k < MIX_SIZE; k++) {
            mean += (double)image[k] / MIX_SIZE;
            whole &= image[k] == floorf(image[k]);
            out.none &= image[k] == (float)i;
        }
        /* a box has the area that the targets say, and a mixture the weight */
        assert_true(fabs(sum - 1) < 1e-6 && fabs(mean - expected) < 1e-4);
        if (out.partner[i] != i && whole) out.cut = 1;
    }
    return out;
}

static void mixing_follows_its_rates(void **state)
{
    (void)state;
    enum { N = 12000 };
    chosen c;
    static mixed m;
    choose_augmentation(&c, "mix", "mixup=1 cutmix=1 mix_probability=0.5");
    uniformity weights = {{0}};
    long none = 0, cuts = 0, places[BATCH][BATCH] = {{0}}, mixtures = 0;
    for (uint64_t i = 0; i < N; i++) {
        mix_batch(&c, i, &m);
        const mixing found = look_at(&m);
        none += found.none;
        cuts += found.cut;
        if (found.none || found.cut) continue;
        mixtures++;
        uniformity_add(&weights, found.lambda);
        for (int k = 0; k < BATCH; k++) places[k][found.partner[k]]++;
    }
    /* about 3 % of the cut boxes are so small that they are empty */
    assert_true(none > N / 2 - 250 && none < N / 2 + 400);
    assert_true(cuts > N / 4 - 400 && cuts < N / 4 + 200);
    assert_rate(mixtures, N, 0.25 * 719 / 720); /* one permutation in 720 is the identity */
    assert_uniform(&weights);
    for (int i = 0; i < BATCH; i++)
        for (int k = 0; k < BATCH; k++) assert_rate(places[i][k], mixtures, 1.0 / BATCH);
}

/* As timm: every batch, partners reversed, Beta(0.8, 0.8) for Mixup. */
static void mixing_reverses_batches(void **state)
{
    (void)state;
    enum { N = 6000 };
    chosen c;
    static mixed m;
    double sum = 0, squares = 0;
    choose_augmentation(&c, "mix", "mixup=0.8 mix_partner=reversed");
    for (uint64_t i = 0; i < N; i++) {
        mix_batch(&c, i, &m);
        const mixing found = look_at(&m);
        assert_false(found.cut);
        for (int k = 0; k < BATCH && found.lambda < 1; k++)
            assert_true(found.partner[k] == BATCH - 1 - k);
        sum += found.lambda;
        squares += found.lambda * found.lambda;
    }
    assert_moments(sum, squares, N, 0.5, 1 / (4 * 2.6));
    long cut = 0;
    choose_augmentation(&c, "mix", "mixup=0.8 cutmix=1 mix_switch=1 mix_partner=reversed");
    for (uint64_t i = 0; i < 500; i++) {
        mix_batch(&c, i, &m);
        const mixing found = look_at(&m);
        assert_true(found.cut || found.none || found.lambda == 0);
        cut += found.cut;
    }
    assert_true(cut > 400);
}

/* Small alphas, whose draws differ by orders of magnitude, never give NaN. */
static void small_alphas_never_give_nan(void **state)
{
    (void)state;
    chosen c;
    static mixed m;
    static const char *const alphas[] = {"mixup=0.001", "mixup=1e-310"};
    for (int k = 0; k < 2; k++) {
        choose_augmentation(&c, "mix", alphas[k]);
        long ends = 0, ones = 0;
        for (uint64_t i = 0; i < 1000; i++) {
            mix_batch(&c, i, &m);
            const mixing found = look_at(&m);
            assert_true(found.lambda >= 0 && found.lambda <= 1);
            ends += found.lambda < 1e-3 || found.lambda > 1 - 1e-3;
            ones += found.lambda > 0.5;
        }
        assert_true(ends > 950);
        assert_rate(ones, 1000, 0.5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(resized_crops_are_uniform),
                                       TEST(narrow_images_are_cropped_at_the_centre),
                                       TEST(evaluation_crops_the_centre),
                                       TEST(small_eval_crop_is_refused),
                                       TEST(autoaugment_follows_its_policies),
                                       TEST(randaugment_draws_every_operation),
                                       TEST(randaugment_varies_its_magnitude),
                                       TEST(erasing_draws_rectangles),
                                       TEST(erasing_clips_noise),
                                       TEST(mixing_follows_its_rates),
                                       TEST(mixing_reverses_batches),
                                       TEST(small_alphas_never_give_nan)};
    return cmocka_run_group_tests(tests, io_setup, data_end);
}
