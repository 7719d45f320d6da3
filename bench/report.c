/* SPDX-License-Identifier: MIT */
/*
 * The table and its JSON. Decides how figures are shown, not what they are.
 * Thread: main.
 */
#include "bench/report.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

#define FIGURES_MAX 384

static struct report_figure figures[FIGURES_MAX];
static int n_figures;

static struct {
    const char *fs;
    long cores;
    double load;
} machine;

static const char *fs_name(const char *folder)
{
    static const struct {
        unsigned long type;
        const char *name;
    } known[] = {
        {0xef53, "ext4"},      {0x58465342, "xfs"},       {0x9123683e, "btrfs"},
        {0x01021994, "tmpfs"}, {0x794c7630, "overlayfs"}, {0x2fc12fc1, "zfs"},
    };
    struct statfs fs;
    size_t i;

    if (statfs(folder, &fs)) {
        return "unknown";
    }
    for (i = 0; i < sizeof known / sizeof known[0]; i++) {
        if ((unsigned long)fs.f_type == known[i].type) {
            return known[i].name;
        }
    }
    return "other";
}

void report_machine(const struct bench *b)
{
    machine.fs = fs_name(b->folder);
    machine.cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (getloadavg(&machine.load, 1) != 1) {
        machine.load = -1;
    }
    printf("holdfast %s, SQLite %s, %s, %ld cores, load %.1f before\n\n",
           hf_version(), sqlite3_libversion(), machine.fs, machine.cores,
           machine.load);
    printf("%-56s %18s  %-8s\n", "figure", "measured", "target");
}

static bool is_met(const struct report_figure *f)
{
    return f->goal == REPORT_AT_LEAST ? f->value >= f->target
                                      : f->value < f->target;
}

/* Three digits that count, but a rate in full. */
static int decimals(double value)
{
    return value >= 1000 ? 0 : value >= 10 ? 1 : value >= 1 ? 2 : 3;
}

void report_add(const struct report_figure *f)
{
    char measured[40];

    (void)snprintf(measured, sizeof measured, "%.*f %s", decimals(f->value),
                   f->value, f->unit);
    printf("%-56s %18s", f->name, measured);
    if (f->goal != REPORT_NO_GOAL) {
        printf("  %s %-5g %s", f->goal == REPORT_AT_LEAST ? ">=" : "< ",
               f->target, is_met(f) ? "met" : "NOT MET");
    }
    (void)putchar('\n');
    (void)fflush(stdout);
    if (n_figures < FIGURES_MAX) {
        figures[n_figures++] = *f;
    }
}

void report_end(void)
{
    int goals = 0;
    int met = 0;
    int i;

    for (i = 0; i < n_figures; i++) {
        goals += figures[i].goal != REPORT_NO_GOAL;
        met += figures[i].goal != REPORT_NO_GOAL && is_met(&figures[i]);
    }
    printf("\n%d of %d targets met\n", met, goals);
}

static void json_figure(FILE *out, const struct report_figure *f)
{
    (void)fprintf(out, "    {\"name\": \"%s\", \"value\": %g, \"unit\": \"%s\"",
                  f->name, f->value, f->unit);
    if (f->goal != REPORT_NO_GOAL) {
        (void)fprintf(out,
                      ", \"goal\": \"%s\", \"target\": %g, \"met\": "
                      "%s",
                      f->goal == REPORT_AT_LEAST ? "at least" : "below",
                      f->target, is_met(f) ? "true" : "false");
    }
    (void)fputs("}", out);
}

void report_json(FILE *out)
{
    int i;

    (void)fprintf(out,
                  "{\n  \"version\": \"%s\",\n  \"sqlite\": \"%s\",\n"
                  "  \"file_system\": \"%s\",\n  \"cores\": %ld,\n"
                  "  \"load_before\": %g,\n  \"figures\": [\n",
                  hf_version(), sqlite3_libversion(), machine.fs, machine.cores,
                  machine.load);
    for (i = 0; i < n_figures; i++) {
        json_figure(out, &figures[i]);
        (void)fputs(i + 1 < n_figures ? ",\n" : "\n", out);
    }
    (void)fputs("  ]\n}\n", out);
}
