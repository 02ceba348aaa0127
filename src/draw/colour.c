#include "draw/colour.h"

#include <math.h>

static double gamma_of(double linear)
{
    double x = linear < 0 ? 0 : linear > 1 ? 1 : linear;
    return x <= 0.0031308 ? 12.92 * x : 1.055 * pow(x, 1 / 2.4) - 0.055;
}

/* Converts OKLab in polar form (Ottosson 2020) to sRGB; colours outside sRGB are clamped. hue in
 * degrees. */
static colour from_oklch(double lightness, double chroma, double hue)
{
    double a = chroma * cos(hue * 0.017453292519943295),
           b = chroma * sin(hue * 0.017453292519943295);
    double l = lightness + 0.3963377774 * a + 0.2158037573 * b;
    double m = lightness - 0.1055613458 * a - 0.0638541728 * b;
    double s = lightness - 0.0894841775 * a - 1.2914855480 * b;
    l = l * l * l;
    m = m * m * m;
    s = s * s * s;
    return (colour){gamma_of(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
                    gamma_of(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
                    gamma_of(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s)};
}

static double between(double from, double to, double t) { return from + (to - from) * t; }

/* The chroma is lower in the middle and at the dark end, which keeps all colours inside sRGB. */
static colour sequential(double t)
{
    return from_oklch(between(0.24, 0.93, t), 0.11 + 0.05 * t - 0.05 * sin(3.141592653589793 * t),
                      between(308, 102, t));
}

static colour diverging(double t)
{
    double far = fabs(2 * t - 1); /* 0 in the middle */
    double chroma = sin(fmin(2.1 * far, 1.5707963267948966)) * (1 - 0.15 * far * far);
    return t < 0.5 ? from_oklch(between(0.975, 0.36, far), 0.145 * chroma, 255)
                   : from_oklch(between(0.975, 0.38, far), 0.175 * chroma, 27);
}

colour colour_at(colour_map map, double t)
{
    if (!isfinite(t)) return (colour){0.6, 0.6, 0.6};
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    return map == COLOUR_SEQUENTIAL ? sequential(t) : diverging(t);
}

/* Grey comes first, for the baseline of a comparison. */
colour colour_of_line(int i)
{
    static const colour lines[COLOUR_LINES] = {
        {0.35, 0.35, 0.35}, {0.12, 0.42, 0.74}, {0.85, 0.37, 0.05}, {0.2, 0.6, 0.25},
        {0.58, 0.3, 0.7},   {0.75, 0.1, 0.2},   {0.1, 0.6, 0.65},   {0.6, 0.45, 0.1}};
    return lines[i % COLOUR_LINES];
}
