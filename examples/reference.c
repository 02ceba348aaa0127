/* reference.c - the 2-D SSM layer, its gradient and a classifier made of it, to be read in one
 * sitting. It needs no library but C's own:
 *
 *     cc -O2 reference.c -o reference -lm && ./reference
 *
 * trains a network of two such layers in a few seconds. The layer maps a grid u of L1 rows and L2
 * columns, with H channels in each cell, to a grid y of the same shape; channels do not mix. The
 * file follows the paper "A 2-Dimensional State Space Layer for Spatial Inductive Bias", whose
 * section numbers it has: the recursion (3.1), its parameters and kernel (3.2), their derivatives,
 * four directions (appendix), then a network, its loss and its training. The library computes the
 * same numbers quickly, from the same array of parameters, as the layer
 *     ssm2d_layer_create(context, "ssm2d", "channels=H d_state=N n_ssm=S directions=4", ..)
 * reference.py is this file in NumPy. MIT licence. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#ifndef SIZES /* -DSIZES='L1 = 3, ..' compiles the file for other sizes */
#define SIZES L1 = 8, L2 = 10, H = 6, N = 4, S = 2
#endif
enum {
    SIZES,     /* rows, columns, channels, states of a system, systems per direction (n_ssm) */
    R = 4,     /* directions */
    K = R * S, /* systems; each has a kernel */
    CELLS = L1 * L2,
    VALUES = CELLS * H,
    CLASSES = 4
};
typedef double grid[L1][L2];      /* one number per cell: a kernel, a state, an image */
typedef double signal[L1][L2][H]; /* H numbers per cell */
static double *flat(signal x) { return &x[0][0][0]; }
static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

/* ---- 3.1 The recursion -------------------------------------------------------------------------
 * Every cell has two states: h, which moves to the right, and v, which moves down:
 *
 *     h[i][j+1] = a_1 h[i][j] + a_2 v[i][j] + b_1 u[i][j+1]
 *     v[i+1][j] = a_3 h[i][j] + a_4 v[i][j] + b_2 u[i+1][j]
 *     y[i][j]   = c_1 h[i][j] + c_2 v[i][j]
 *
 * This is linear and the same at every cell, hence a convolution, y = k * u, whose kernel k is what
 * the recursion answers to a single 1 in cell (0, 0). Many paths lead to a cell: with all a's 1 the
 * states would be binomial coefficients. Each step is therefore halved (3.2, normalization), except
 * along k's first row and column, to which one path leads (relaxation). Cost: O(L1 L2 N). */
static double step_norm(int i, int j) { return i == 0 || j == 0 ? 1 : 0.5; }
static void states(grid h, grid v, double a[4], double b[2])
{
    for (int i = 0; i < L1; i++)
        for (int j = 0; j < L2; j++) {
            double g = step_norm(i, j);
            h[i][j] = j > 0 ? g * (a[0] * h[i][j - 1] + a[1] * v[i][j - 1]) : 0;
            v[i][j] = i > 0 ? g * (a[2] * h[i - 1][j] + a[3] * v[i - 1][j]) : 0;
            if (i == 0 && j == 0) h[i][j] = b[0], v[i][j] = b[1];
        }
}

/* ---- 3.2 Parameters and kernel -----------------------------------------------------------------
 * A_1..A_4 are diagonal matrices of N x N, so that the N coordinates of a state do not see each
 * other: each is a system of plain numbers a_1..a_4, b_1, b_2, c_1, c_2. What is trained is any
 * real number; the sigmoid takes it to (0, 1), where the recursion is stable. */
typedef struct ssm {
    double A[4][K][N], B[2][K][N], C[2][K][N], D[H]; /* D is a skip connection: y = .. + D u */
} ssm;

static void coefficients(double a[4], double b[2], double c[2], ssm *p, int k, int n)
{
    for (int m = 0; m < 4; m++) a[m] = sigmoid(p->A[m][k][n]);
    for (int m = 0; m < 2; m++) b[m] = sigmoid(p->B[m][k][n]);
    for (int m = 0; m < 2; m++) c[m] = p->C[m][k][n] * sqrt(1.0 / N);
}
static void kernels(grid k[K], ssm *p)
{
    static grid h, v;
    double a[4], b[2], c[2];
    memset(k, 0, K * sizeof(grid));
    for (int s = 0; s < K; s++)
        for (int n = 0; n < N; n++) {
            coefficients(a, b, c, p, s, n);
            states(h, v, a, b);
            for (int i = 0; i < L1; i++)
                for (int j = 0; j < L2; j++) k[s][i][j] += c[0] * h[i][j] + c[1] * v[i][j];
        }
}

/* ---- The adjoint of the recursion --------------------------------------------------------------
 * dx stands for the derivative of the loss with respect to x. Given dk, walk from the last cell to
 * the first. When a cell's turn comes, all cells that its states feed have already added to its dh
 * and dv; it hands them on through the same a's, in the opposite direction. Gradients are added to
 * dp. The derivative of s = sigmoid(x) is s (1 - s). */
static void kernels_back(ssm *dp, grid dk[K], ssm *p)
{
    static grid h, v, dh, dv;
    double a[4], b[2], c[2];
    for (int s = 0; s < K; s++)
        for (int n = 0; n < N; n++) {
            double da[4] = {0, 0, 0, 0}, dc[2] = {0, 0};
            coefficients(a, b, c, p, s, n);
            states(h, v, a, b);
            memset(dh, 0, sizeof dh), memset(dv, 0, sizeof dv);
            for (int i = L1 - 1; i >= 0; i--)
                for (int j = L2 - 1; j >= 0; j--) {
                    double g = step_norm(i, j), q = dk[s][i][j];
                    dc[0] += q * h[i][j], dh[i][j] += q * c[0];
                    dc[1] += q * v[i][j], dv[i][j] += q * c[1];
                    if (j > 0) { /* h[i][j] was made from the cell to the left */
                        da[0] += g * dh[i][j] * h[i][j - 1];
                        da[1] += g * dh[i][j] * v[i][j - 1];
                        dh[i][j - 1] += g * dh[i][j] * a[0], dv[i][j - 1] += g * dh[i][j] * a[1];
                    }
                    if (i > 0) { /* v[i][j] was made from the cell above */
                        da[2] += g * dv[i][j] * h[i - 1][j];
                        da[3] += g * dv[i][j] * v[i - 1][j];
                        dh[i - 1][j] += g * dv[i][j] * a[2], dv[i - 1][j] += g * dv[i][j] * a[3];
                    }
                }
            double db[2] = {dh[0][0], dv[0][0]};
            for (int m = 0; m < 4; m++) dp->A[m][s][n] += da[m] * a[m] * (1 - a[m]);
            for (int m = 0; m < 2; m++) dp->B[m][s][n] += db[m] * b[m] * (1 - b[m]);
            for (int m = 0; m < 2; m++) dp->C[m][s][n] += dc[m] * sqrt(1.0 / N);
        }
}

/* ---- The layer: convolution in four directions -------------------------------------------------
 * A kernel looks up and to the left only. So that a cell sees the whole grid, the layer mirrors u
 * in direction r (not at all, rows, columns, both), convolves, mirrors back and adds. Channel h
 * uses system (h + r S) mod K in direction r: every direction of a channel has another kernel. */
static int flipped_row(int r, int i) { return r & 1 ? L1 - 1 - i : i; }
static int flipped_col(int r, int j) { return r & 2 ? L2 - 1 - j : j; }

static void layer(signal y, grid k[K], ssm *p, signal u)
{
    for (int x = 0; x < VALUES; x++) flat(y)[x] = p->D[x % H] * flat(u)[x];
    for (int r = 0; r < R; r++)
        for (int i = 0; i < L1; i++)
            for (int j = 0; j < L2; j++)
                for (int p1 = 0; p1 <= i; p1++) /* from cell (p1, p2) to cell (i, j) */
                    for (int p2 = 0; p2 <= j; p2++) {
                        double *from = u[flipped_row(r, p1)][flipped_col(r, p2)];
                        double *to = y[flipped_row(r, i)][flipped_col(r, j)];
                        for (int h = 0; h < H; h++)
                            to[h] += k[(h + r * S) % K][i - p1][j - p2] * from[h];
                    }
}

/* Adds to du, dk and dp->D. Each product y += k u of the layer becomes du += k dy, dk += u dy. */
static void layer_back(signal du, grid dk[K], ssm *dp, signal dy, grid k[K], ssm *p, signal u)
{
    for (int x = 0; x < VALUES; x++) {
        flat(du)[x] += p->D[x % H] * flat(dy)[x];
        dp->D[x % H] += flat(u)[x] * flat(dy)[x];
    }
    for (int r = 0; r < R; r++)
        for (int i = 0; i < L1; i++)
            for (int j = 0; j < L2; j++)
                for (int p1 = 0; p1 <= i; p1++)
                    for (int p2 = 0; p2 <= j; p2++) {
                        int fi = flipped_row(r, p1), fj = flipped_col(r, p2);
                        double *dto = dy[flipped_row(r, i)][flipped_col(r, j)];
                        for (int h = 0; h < H; h++) {
                            int s = (h + r * S) % K;
                            du[fi][fj][h] += k[s][i - p1][j - p2] * dto[h];
                            dk[s][i - p1][j - p2] += u[fi][fj][h] * dto[h];
                        }
                    }
}

/* ---- A network of two layers -------------------------------------------------------------------
 * The layer mixes cells, a matrix mixes channels, SiLU (x sigmoid(x)) makes it more than linear:
 *     u1 = image E + e,  y1 = layer1(u1),  u2 = silu(y1) M + m,  y2 = layer2(u2),
 *     logits = mean over cells of silu(y2), times V, + v */
typedef struct model {
    double E[1][H], e[H];
    ssm layer1;
    double M[H][H], m[H];
    ssm layer2;
    double V[H][CLASSES], v[CLASSES];
} model;
enum { PARAMETERS = sizeof(model) / sizeof(double) };

static grid k1[K], k2[K], dk1[K], dk2[K]; /* kernels of both layers, the same for a whole batch */

/* out[n][to] = x[n][from] W[from][to] + b[to] */
static void linear(double *out, double *x, double *W, double *b, int n, int from, int to)
{
    for (int i = 0; i < n * to; i++) {
        out[i] = b[i % to];
        for (int f = 0; f < from; f++) out[i] += x[i / to * from + f] * W[f * to + i % to];
    }
}
static void linear_back(double *dx, double *dW, double *db, double *dout, double *x, double *W,
                        int n, int from, int to)
{
    for (int i = 0; i < n * to; i++) {
        db[i % to] += dout[i];
        for (int f = 0; f < from; f++) {
            dx[i / to * from + f] += dout[i] * W[f * to + i % to];
            dW[f * to + i % to] += dout[i] * x[i / to * from + f];
        }
    }
}
static double silu(double x) { return x * sigmoid(x); }
static double silu_slope(double x) { return sigmoid(x) * (1 + x * (1 - sigmoid(x))); }

/* The loss of one image, -log of the probability of its label. Adds the loss's derivatives to d,
 * unless d is NULL. *right: whether the label is the most probable class. */
static double loss_of(model *d, model *w, grid image, int label, int *right)
{
    static signal u1, y1, z1, u2, y2, du1, dy1, dz1, du2, dy2; /* z1 = silu(y1) */
    double mean[H] = {0}, logits[CLASSES], sum = 0;
    linear(flat(u1), &image[0][0], &w->E[0][0], w->e, CELLS, 1, H);
    layer(y1, k1, &w->layer1, u1);
    for (int i = 0; i < VALUES; i++) flat(z1)[i] = silu(flat(y1)[i]);
    linear(flat(u2), flat(z1), &w->M[0][0], w->m, CELLS, H, H);
    layer(y2, k2, &w->layer2, u2);
    for (int i = 0; i < VALUES; i++) mean[i % H] += silu(flat(y2)[i]) / CELLS;
    linear(logits, mean, &w->V[0][0], w->v, 1, H, CLASSES);
    for (int c = 0; c < CLASSES; c++) sum += exp(logits[c]);
    *right = 1;
    for (int c = 0; c < CLASSES; c++) *right &= c == label || logits[c] < logits[label];
    if (!d) return log(sum) - logits[label];

    double dimage[CELLS] = {0}, dmean[H] = {0}, dlogits[CLASSES];
    memset(du1, 0, sizeof du1), memset(dz1, 0, sizeof dz1), memset(du2, 0, sizeof du2);
    for (int c = 0; c < CLASSES; c++) dlogits[c] = exp(logits[c]) / sum - (c == label);
    linear_back(dmean, &d->V[0][0], d->v, dlogits, mean, &w->V[0][0], 1, H, CLASSES);
    for (int i = 0; i < VALUES; i++) flat(dy2)[i] = dmean[i % H] / CELLS * silu_slope(flat(y2)[i]);
    layer_back(du2, dk2, &d->layer2, dy2, k2, &w->layer2, u2);
    linear_back(flat(dz1), &d->M[0][0], d->m, flat(du2), flat(z1), &w->M[0][0], CELLS, H, H);
    for (int i = 0; i < VALUES; i++) flat(dy1)[i] = flat(dz1)[i] * silu_slope(flat(y1)[i]);
    layer_back(du1, dk1, &d->layer1, dy1, k1, &w->layer1, u1);
    linear_back(dimage, &d->E[0][0], d->e, flat(du1), &image[0][0], &w->E[0][0], CELLS, 1, H);
    return log(sum) - logits[label];
}

/* ---- Training ----------------------------------------------------------------------------------
 * The task: a noisy image has stripes. Along rows, columns, or one of the two diagonals? */
static unsigned long long random_state = 1;
static double uniform(double deviation) /* mean 0 */
{
    random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
    return ((double)(random_state >> 11) / 4503599627370496.0 - 1) * sqrt(3.0) * deviation;
}

static int draw(grid image) /* returns its label */
{
    double stripe[L1 + L2];
    int label = (int)((uniform(1) / sqrt(3.0) + 1) * 2);
    for (int s = 0; s < L1 + L2; s++) stripe[s] = uniform(1);
    for (int i = 0; i < L1; i++)
        for (int j = 0; j < L2; j++) {
            int along[CLASSES] = {i, j, i - j + L2 - 1, i + j};
            image[i][j] = stripe[along[label]] + uniform(0.5);
        }
    return label;
}

static void init(model *w)
{
    double *first = (double *)w;
    for (int i = 0; i < PARAMETERS; i++) first[i] = uniform(0.2);
    for (int h = 0; h < H; h++) {
        w->layer1.D[h] = w->layer2.D[h] = 1; /* at first y is close to u */
        w->E[0][h] *= 5;
        for (int g = 0; g < H; g++) w->M[g][h] *= 2;
    }
}

int main(void)
{
    enum { STEPS = 300, BATCH = 16, TEST = 1000 };
    static model w, d, m, v; /* weights, gradient, Adam's two moments */
    double *weight = (double *)&w, *slope = (double *)&d, *m1 = (double *)&m, *m2 = (double *)&v;
    int right, correct = 0;
    double loss = 0;
    grid image;
    init(&w);
    for (int step = 1; step <= STEPS; step++) {
        memset(&d, 0, sizeof d), memset(dk1, 0, sizeof dk1), memset(dk2, 0, sizeof dk2);
        kernels(k1, &w.layer1), kernels(k2, &w.layer2);
        for (int b = 0; b < BATCH; b++) {
            int label = draw(image);
            loss += loss_of(&d, &w, image, label, &right) / BATCH;
        }
        kernels_back(&d.layer1, dk1, &w.layer1), kernels_back(&d.layer2, dk2, &w.layer2);
        for (int i = 0; i < PARAMETERS; i++) { /* Adam, learning rate 0.01 */
            double g = slope[i] / BATCH, c1 = 1 - pow(0.9, step), c2 = 1 - pow(0.999, step);
            m1[i] = 0.9 * m1[i] + 0.1 * g;
            m2[i] = 0.999 * m2[i] + 0.001 * g * g;
            weight[i] -= 0.01 * m1[i] / c1 / (sqrt(m2[i] / c2) + 1e-8);
        }
        if (step % 25 == 0) printf("step %3d  loss %.6f\n", step, loss / 25), loss = 0;
    }
    kernels(k1, &w.layer1), kernels(k2, &w.layer2);
    for (int b = 0; b < TEST; b++, correct += right) {
        int label = draw(image);
        loss_of(NULL, &w, image, label, &right);
    }
    printf("%.1f %% of %d new images are right\n", 100.0 * correct / TEST, TEST);
    return 0;
}
