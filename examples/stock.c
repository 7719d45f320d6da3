/* SPDX-License-Identifier: MIT */
/*
 * The order system: many clients sell what a shop has. First in the way of a
 * common mistake, which sells units twice; then in three ways that do not, each
 * once where clients seldom want the same product and once in a flash sale,
 * where all want one. Which way is quickest depends on that, so
 * hf_cell_update() measures it.
 */
#include "examples/stock.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RESULTS 6 /* three ways, low and high */

static const char usage[] =
    "stock [--clients N] [--units N] [--svg PATH] [URL]\n"
    "\n"
    "An order system that sells units twice, and three that do not. Without a\n"
    "URL the store is the one of HOLDFAST_URL, else SQLite in a temporary\n"
    "folder; or it is mysql://USER@HOST:PORT/DATABASE, with the password in\n"
    "MYSQL_PWD or HOLDFAST_PASSWORD. There it makes a table, example_stock,\n"
    "and cells under the prefix example_stock, and deletes both.\n"
    "\n"
    "  --clients N  so many sell at once, on connections of their own (64)\n"
    "  --units N    what is there in each sale, ten of a product or all of\n"
    "               one (10000)\n"
    "  --svg PATH   draw the result\n"
    "\n"
    "Exit: 0; 1 a unit was lost or sold twice, or the store failed; 2 wrong\n"
    "usage.\n";

static struct sale sale = {.shop = &sqlite_shop, .clients = 64, .units = 10000};
static const char *svg;
static char folder[512];

static void on_signal(int number)
{
    (void)number;
    is_over = true;
}

/* ---- the story */

static bool make_mistake(void)
{
    struct sale one = sale;
    struct result r;

    one.way = &mistake;
    one.products = 1;
    one.customers = one.units;
    if (!run_sale(&one, &r)) {
        return false;
    }
    report_mistake(&r);
    return r.failed == 0;
}

/* There are a tenth more customers than units, so that some are told that all
 * is sold. */
static bool sell_well(struct sale *one, struct result *r)
{
    one->customers = one->units + one->units / 10;
    if (!run_sale(one, r)) {
        return false;
    }
    report_row(r);
    if (is_over || (r->failed == 0 && r->sold == one->units && r->left == 0 &&
                    r->twice == 0 && r->lost == 0)) {
        return true;
    }
    fail(one->way->name, "not every unit was sold once");
    return false;
}

static bool sell_in_three_ways(void)
{
    static const struct way *const ways[] = {&by_cell, &by_row, &by_lease};
    struct sale sales[RESULTS];
    struct result results[RESULTS];
    bool is_fine = true;

    report_head();
    for (int i = 0; i < RESULTS && is_fine && !is_over; i++) {
        sales[i] = sale;
        sales[i].way = ways[i / 2];
        sales[i].products = i % 2 == 0 ? sale.units / 10 : 1;
        is_fine = sell_well(&sales[i], &results[i]);
    }
    if (!is_fine || is_over) {
        return false;
    }
    printf("The row lock is %s; a customer pays for 0.2 ms.\n\n",
           sale.shop->row_lock);
    report_rule(&results[0]);
    report_rule(&results[1]);
    if (svg && !draw(svg, results, RESULTS)) {
        fail(svg, strerror(errno));
        return false;
    }
    return true;
}

static bool tell(void)
{
    printf("%d clients, %d units, %s\n", sale.clients, sale.units,
           sale.shop->name);
    return make_mistake() && sell_in_three_ways();
}

/* ---- the program */

/* Delete what is left of locks and cells, which are no longer in use. */
static void clean(void)
{
    hf_client *client = NULL;
    hf_error err = HF_ERROR_INIT;

    if (hf_open(sale.url, NULL, &client, &err) != HF_OK ||
        hf_gc(client, 0, NULL, &err) != HF_OK) {
        fail("what is left of locks and cells stays", err.text);
    }
    hf_close(client);
}

/* Holdfast and the shop read the password from different variables. */
static void share_password(void)
{
    const char *shops = getenv("MYSQL_PWD");
    const char *ours = getenv("HOLDFAST_PASSWORD");

    if (shops && !ours) {
        setenv("HOLDFAST_PASSWORD", shops, 1);
    } else if (ours && !shops) {
        setenv("MYSQL_PWD", ours, 1);
    }
}

static bool run_on_server(const char *url)
{
    char locks[1024];
    bool is_fine;

    if (strncmp(url, "mysql://", 8) != 0 &&
        strncmp(url, "mariadb://", 10) != 0) {
        fail(url, "the shop's table is on MySQL or MariaDB, or without a URL "
                  "in SQLite");
        return false;
    }
    if (strstr(url, "prefix=")) {
        fail(url, "it has a prefix of its own, which it leaves empty");
        return false;
    }
    share_password();
    snprintf(locks, sizeof locks, "%s%cprefix=example_stock", url,
             strchr(url, '?') ? '&' : '?');
    sale.shop = &mysql_shop;
    sale.place = url;
    sale.url = locks;
    is_fine = tell();
    clean();
    return is_fine;
}

static void remove_folder(void)
{
    static const char *const files[] = {
        "locks.db", "locks.db-wal", "locks.db-shm", "locks.db-holdfast",
        "shop.db",  "shop.db-wal",  "shop.db-shm"};
    char path[600];

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        unlink(path);
    }
    rmdir(folder);
}

static bool run_in_temporary(void)
{
    const char *place = getenv("TMPDIR");
    char locks[600];
    char shop[600];

    snprintf(folder, sizeof folder, "%s/holdfast-stock-XXXXXX",
             place && *place ? place : "/tmp");
    if (!mkdtemp(folder) || atexit(remove_folder) != 0) {
        perror(folder);
        return false;
    }
    snprintf(locks, sizeof locks, "sqlite:%s/locks.db", folder);
    snprintf(shop, sizeof shop, "%s/shop.db", folder);
    sale.place = shop;
    sale.url = locks;
    return tell();
}

static bool read_number(const char *word, int least, int *ret_number)
{
    char *end;
    long n = word ? strtol(word, &end, 10) : 0;

    *ret_number = (int)n;
    return n >= least && n <= 1000000 && *end == '\0';
}

int main(int argc, char **argv)
{
    const struct sigaction action = {.sa_handler = on_signal};
    const char *url = NULL;

    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 1; i < argc; i++) {
        const char *next = argv[i + 1];

        if (strcmp(argv[i], "--help") == 0) {
            return fputs(usage, stdout) < 0;
        }
        if (argv[i][0] != '-' && !url) {
            url = argv[i];
        } else if ((strcmp(argv[i], "--clients") == 0 &&
                    read_number(next, 1, &sale.clients)) ||
                   (strcmp(argv[i], "--units") == 0 &&
                    read_number(next, 20, &sale.units) &&
                    sale.units % 10 == 0)) {
            i++;
        } else if (strcmp(argv[i], "--svg") == 0 && next) {
            svg = next;
            i++;
        } else {
            fputs(usage, stderr);
            return 2;
        }
    }
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    url = url ? url : getenv("HOLDFAST_URL");
    return !(url && *url ? run_on_server(url) : run_in_temporary());
}
