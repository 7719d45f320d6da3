/* SPDX-License-Identifier: MIT */
/*
 * The example stock as a picture: bars for the units sold in a second, and
 * below them what hf_cell_update() did. Its colours follow the reader's, light
 * or dark.
 */
#include "examples/stock.h"

#include <stdio.h>

#define LEFT    80 /* left edge of the bars, where the axis is */
#define RIGHT   740
#define TICKS   5
#define BAR     52
#define HEIGHT  200 /* height of a panel's bars */
#define FIRST_Y 310 /* base line of each panel's bars */
#define RULE_Y  610

static const char head[] =
    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 760 650\" "
    "font-family=\"sans-serif\" font-size=\"13\">\n"
    "<style>\n"
    ".paper{fill:#fff} text{fill:#1f2328} .line{stroke:#1f2328}\n"
    ".grid{stroke:#d0d7de} .low{fill:#2f6fb5} .high{fill:#c4551b}\n"
    ".limit{stroke:#1f2328;stroke-dasharray:6 4}\n"
    "@media (prefers-color-scheme:dark){\n"
    ".paper{fill:#14181d} text{fill:#e6edf3} .line{stroke:#e6edf3}\n"
    ".grid{stroke:#3a424b} .low{fill:#6cabf0} .high{fill:#f0914f}\n"
    ".limit{stroke:#e6edf3}}\n"
    "</style>\n"
    "<rect class=\"paper\" width=\"760\" height=\"650\"/>\n";

static void write_text(FILE *f, double x, double y, const char *anchor,
                       const char *text)
{
    fprintf(f, "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"%s\">%s</text>\n", x,
            y, anchor, text);
}

static void draw_line(FILE *f, const char *class, double y)
{
    fprintf(f,
            "<line class=\"%s\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" "
            "y2=\"%.1f\"/>\n",
            class, LEFT, y, RIGHT, y);
}

/* The smallest of 1, 2, 5, 10, 20, … that is enough for all ticks. */
static double step_for(double most)
{
    double step = 1;

    for (int i = 0; step * TICKS < most; i++) {
        step *= i % 3 == 1 ? 2.5 : 2;
    }
    return step;
}

static void draw_axis(FILE *f, double base, double step, const char *unit)
{
    char text[32];

    for (int i = 0; i <= TICKS; i++) {
        double y = base - (double)HEIGHT * i / TICKS;

        draw_line(f, i == 0 ? "line" : "grid", y);
        snprintf(text, sizeof text, "%.0f", step * i);
        write_text(f, LEFT - 8, y + 4, "end", text);
    }
    fprintf(f,
            "<text transform=\"translate(22 %.0f) rotate(-90)\" "
            "text-anchor=\"middle\">%s</text>\n",
            base - HEIGHT / 2.0, unit);
}

/* Draw a bar whose middle is at x. */
static void draw_bar(FILE *f, const struct result *r, double x, double base,
                     double share, const char *value)
{
    double height = share * HEIGHT;

    fprintf(f,
            "<rect class=\"%s\" x=\"%.0f\" y=\"%.1f\" width=\"%d\" "
            "height=\"%.1f\"/>\n",
            is_hot(r) ? "high" : "low", x - BAR / 2.0, base - height, BAR,
            height);
    write_text(f, x, base - height - 5, "middle", value);
}

static void draw_key(FILE *f, const struct result *r, int i)
{
    char text[64];
    double x = LEFT + i * 230.0;

    fprintf(f,
            "<rect class=\"%s\" x=\"%.0f\" y=\"52\" width=\"13\" "
            "height=\"13\"/>\n",
            is_hot(r) ? "high" : "low", x);
    snprintf(text, sizeof text, "%s contention: %d product%s",
             is_hot(r) ? "high" : "low", r->sale->products,
             is_hot(r) ? "" : "s");
    write_text(f, x + 20, 63, "start", text);
}

/* Draw the speeds; results come in pairs of one way, low and high. */
static void draw_speed(FILE *f, const struct result *results, int n)
{
    double room = (double)(RIGHT - LEFT) / (n / 2.0);
    double most = 0;
    double step;
    char text[32];

    for (int i = 0; i < n; i++) {
        most = per_second(&results[i]) > most ? per_second(&results[i]) : most;
    }
    step = step_for(most);
    draw_axis(f, FIRST_Y, step, "units sold in a second");
    for (int i = 0; i < n; i++) {
        int pair = i / 2;
        double middle = LEFT + room * (pair + 0.5);
        double speed = per_second(&results[i]);

        snprintf(text, sizeof text, "%.0f", speed);
        draw_bar(f, &results[i], middle + (i % 2 == 0 ? -BAR : BAR) * 0.55,
                 FIRST_Y, speed / (step * TICKS), text);
        if (i % 2 == 0) {
            write_text(f, middle, FIRST_Y + 20, "middle",
                       results[i].sale->way->name);
        }
    }
}

static void draw_rule(FILE *f, const struct result *pair)
{
    static const char *const what[] = {
        "tries without its lock that met another",
        "customers served under its lock"};
    double room = (double)(RIGHT - LEFT) / 2;
    char text[32];

    write_text(f, LEFT, RULE_Y - HEIGHT - 30, "start",
               "hf_cell_update(): above 20 % of tries that meet, it locks");
    draw_axis(f, RULE_Y, 100.0 / TICKS, "per cent");
    for (int i = 0; i < 2; i++) {
        double middle = LEFT + room * (i + 0.5);

        for (int j = 0; j < 2; j++) {
            const struct result *r = &pair[j];
            double part = i == 0 ? meeting(r) : locking(r);

            snprintf(text, sizeof text, "%.0f %%", part);
            draw_bar(f, r, middle + (j == 0 ? -BAR : BAR) * 0.55, RULE_Y,
                     part / 100, text);
        }
        write_text(f, middle, RULE_Y + 20, "middle", what[i]);
    }
    draw_line(f, "limit", RULE_Y - 0.2 * HEIGHT);
}

bool draw(const char *path, const struct result *results, int n)
{
    FILE *f = fopen(path, "we");
    char title[160];

    if (!f) {
        return false;
    }
    fputs(head, f);
    snprintf(title, sizeof title, "%d units, %d clients, %s",
             results[0].sale->units, results[0].sale->clients,
             results[0].sale->shop->name);
    fprintf(f, "<title>%s</title>\n", title);
    write_text(f, LEFT, 32, "start", title);
    draw_key(f, &results[0], 0);
    draw_key(f, &results[1], 1);
    draw_speed(f, results, n);
    draw_rule(f, results);
    fputs("</svg>\n", f);
    return fclose(f) == 0;
}
