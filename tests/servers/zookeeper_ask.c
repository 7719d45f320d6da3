/* SPDX-License-Identifier: MIT */
/*
 * For tests that are no C: one look or one blow at a private ZooKeeper, as the
 * administrator, by the small client of the tests.
 *
 *     zookeeper_ask PORT ls|get|stat|acl|rm PATH
 *     zookeeper_ask PORT put|setacl PATH TEXT
 *     zookeeper_ask PORT expire SESSION      (as stat prints the owner)
 *     zookeeper_ask PORT word WORD
 *
 * What is found goes to the standard output; 1 is the exit code where there is
 * no such node or session, 2 that of wrong usage.
 */
#include "tests/servers/servers.h"
#include "tests/servers/zookeeper_client.h"
#include "tests/servers/zookeeper_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DONE = 0, NONE = 1, USAGE = 2 };

static int list(const struct hf__zookeeper *s, const char *path)
{
    const char *names;

    if (hf__zookeeper_count(s, path) < 0) {
        return NONE;
    }
    names = hf__zookeeper_list(s, path);
    printf("%s%s", names, names[0] ? "\n" : "");
    return DONE;
}

static int print_data(const struct hf__zookeeper *s, const char *path)
{
    struct hf__zookeeper_node node;

    if (!hf__zookeeper_look(s, path, &node)) {
        return NONE;
    }
    puts(node.data);
    return DONE;
}

static int print_stat(const struct hf__zookeeper *s, const char *path)
{
    struct hf__zookeeper_node node;

    if (!hf__zookeeper_look(s, path, &node)) {
        return NONE;
    }
    printf("czxid %lld\nmzxid %lld\npzxid %lld\n", (long long)node.czxid,
           (long long)node.mzxid, (long long)node.pzxid);
    printf("version %d\nchildren %d\nlength %d\n", node.version, node.children,
           node.length);
    printf("owner 0x%llx\n", (unsigned long long)node.owner);
    return DONE;
}

static int print_acl(const struct hf__zookeeper *s, const char *path)
{
    const char *acl = hf__zookeeper_acl(s, path);

    puts(acl);
    return acl[0] ? DONE : NONE;
}

static int remove_tree(const struct hf__zookeeper *s, const char *path)
{
    return hf__zookeeper_remove(s, path) ? DONE : NONE;
}

static int expire(const struct hf__zookeeper *s, const char *session)
{
    return hf__zookeeper_expire(s, (int64_t)strtoull(session, NULL, 0)) ? DONE
                                                                        : NONE;
}

static int print_word(const struct hf__zookeeper *s, const char *word)
{
    const char *answer = hf__zookeeper_word(s, word);

    puts(answer);
    return answer[0] ? DONE : NONE;
}

static int put(const struct hf__zookeeper *s, const char *path,
               const char *data)
{
    hf__zookeeper_put(s, path, data);
    return DONE;
}

static int set_acl(const struct hf__zookeeper *s, const char *path,
                   const char *entry)
{
    hf__zookeeper_set_acl(s, path, entry);
    return DONE;
}

static const struct {
    const char *name;
    int (*one)(const struct hf__zookeeper *, const char *);
    int (*two)(const struct hf__zookeeper *, const char *, const char *);
} commands[] = {
    {"ls", list, NULL},         {"get", print_data, NULL},
    {"stat", print_stat, NULL}, {"acl", print_acl, NULL},
    {"rm", remove_tree, NULL},  {"put", NULL, put},
    {"setacl", NULL, set_acl},  {"expire", expire, NULL},
    {"word", print_word, NULL},
};

int main(int argc, char **argv)
{
    struct hf__zookeeper s = {0};

    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (argc < 4 || strcmp(argv[2], commands[i].name) != 0) {
            continue;
        }
        s.port = (int)strtol(argv[1], NULL, 10);
        if (commands[i].one && argc == 4) {
            return commands[i].one(&s, argv[3]);
        }
        if (commands[i].two && argc == 5) {
            return commands[i].two(&s, argv[3], argv[4]);
        }
    }
    fputs("usage: zookeeper_ask PORT COMMAND ARGUMENT...\n", stderr);
    return USAGE;
}
