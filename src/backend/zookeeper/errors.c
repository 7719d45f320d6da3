/* SPDX-License-Identifier: MIT */
/*
 * A table of ZooKeeper's codes: the status of each, and what helps. A code that
 * is not in it is told in the library's words. Thread: any.
 */
#include "src/backend/zookeeper/errors.h"

#include "src/base/error.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct meaning {
    int rc;
    int status;
    const char *text;
    const char *remedy; /* NULL: the text says enough */
};

/* A code of server 3.7, which the client header of 3.8 does not name. */
#define QUOTA_EXCEEDED (-125)

static const struct meaning meanings[] = {
    /* The request may have been applied. */
    {HF__ZK_PENDING, HF_EUNKNOWN, "no answer came in time", NULL},
    {ZCONNECTIONLOSS, HF_EUNKNOWN, "the connection was lost",
     "the session lives on, and connects again"},
    {ZOPERATIONTIMEOUT, HF_EUNKNOWN, "the server was silent for too long",
     "the session lives on, and looks for another server"},
    {HF__ZK_NO_MEMORY, HF_ENOMEM, "out of memory", NULL},
    {ZSYSTEMERROR, HF_EUNKNOWN, "the client library failed",
     "memory or descriptors may be short"},
    {ZMARSHALLINGERROR, HF_EUNKNOWN, "the client library failed",
     "memory may be short"},
    {ZDATAINCONSISTENCY, HF_EUNKNOWN, "an answer can't be read", NULL},
    {ZRUNTIMEINCONSISTENCY, HF_EUNKNOWN, "answers came out of order", NULL},
    {ZSESSIONEXPIRED, HF_EUNKNOWN, "the server has ended the session", NULL},
    {ZCLOSING, HF_EUNKNOWN, "the session is being closed", NULL},
    /* The request was not applied. */
    {ZINVALIDSTATE, HF_EUNAVAIL, "the session is over", NULL},
    {ZSESSIONMOVED, HF_EUNAVAIL, "the session has moved to another server",
     "it is tried again there"},
    {ZTHROTTLEDOP, HF_EUNAVAIL, "the server has too much to do", NULL},
    {ZNOTREADONLY, HF_EUNAVAIL, "the server has no majority and only reads",
     "wait for its ensemble"},
    {ZRECONFIGINPROGRESS, HF_EUNAVAIL, "the ensemble is being changed", NULL},
    {ZSSLCONNECTIONERROR, HF_EUNAVAIL, "TLS with the server failed", NULL},
    {QUOTA_EXCEEDED, HF_EUNAVAIL, "a quota above the node is used up",
     "see listquota of it and of those above; setquota raises it"},
    {ZNEWCONFIGNOQUORUM, HF_EUNAVAIL, "the ensemble has no majority", NULL},
    /* We may not do that. */
    {ZNOAUTH, HF_EAUTH, "the node's ACL does not let us",
     "give the user and password of whoever made it, or change its ACL: "
     "setAcl"},
    {ZAUTHFAILED, HF_EAUTH, "the server refuses user and password", NULL},
    {ZSESSIONCLOSEDREQUIRESASLAUTH, HF_EAUTH,
     "the server wants to know who comes",
     "give user and password, if it takes digests; SASL this library can't: "
     "see the server's enforce.auth.schemes"},
    {ZINVALIDACL, HF_EAUTH, "the server takes no ACL of this user's",
     "check user and password"},
    /* The server, or the tree, does not fit. */
    {ZEPHEMERALONLOCALSESSION, HF_EUNSAFE,
     "its sessions are local, and locks need global ones",
     "set localSessionsUpgradingEnabled=true"},
    {ZUNIMPLEMENTED, HF_ENOTSUP, "the server is too old for it",
     "ZooKeeper 3.5 has it"},
    {ZBADARGUMENTS, HF_EINVAL, "the server takes no such path", NULL},
    {ZNOCHILDRENFOREPHEMERALS, HF_EPROTO,
     "a node above it is ephemeral, so somebody else's",
     "choose another chroot or prefix"},
    {ZNONODE, HF_EPROTO, "there is no such node", NULL},
    {ZNODEEXISTS, HF_EPROTO, "the node is there already", NULL},
    {ZNOTEMPTY, HF_EPROTO, "the node has children", NULL},
    {ZBADVERSION, HF_EPROTO, "somebody else wrote to the node", NULL},
};

static const struct meaning *meaning_of(int rc)
{
    static const struct meaning unknown = {0, HF_EPROTO, NULL, NULL};

    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++) {
        if (meanings[i].rc == rc) {
            return &meanings[i];
        }
    }
    return &unknown;
}

bool hf__zk_is_unknown(int rc)
{
    return rc == HF__ZK_NO_MEMORY || meaning_of(rc)->status == HF_EUNKNOWN;
}

bool hf__zk_is_short(int rc)
{
    return rc == HF__ZK_NO_MEMORY || rc == ZSYSTEMERROR ||
           rc == ZMARSHALLINGERROR;
}

bool hf__zk_shows_life(int rc)
{
    return rc == ZOK || rc == ZBADVERSION || rc == ZNONODE || rc == ZNOAUTH;
}

/* A child that is being made has a name that ends before its sequence. */
static bool has_token(const char *name)
{
    size_t length = strlen(name);
    bool is_begun = length > 0 && name[length - 1] == '-';
    char whole[HF__ZK_CHILD_MAX + 16];
    struct hf__zk_child child;

    (void)snprintf(whole, sizeof whole, "%s%s", name,
                   is_begun ? "0000000000" : "");
    hf__zk_child_read(whole, &child);
    return child.kind != HF__ZK_FOREIGN && child.kind != HF__ZK_LOCK;
}

const char *hf__zk_path_show(const char *path, char to[HF__ZK_PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;

    if (has_token(name)) {
        const char *token = strchr(name, '-') + 1;

        (void)snprintf(to, HF__ZK_PATH_MAX, "%.*s…%s", (int)(token - path),
                       path, token + HF__TOKEN_DIGITS);
    } else {
        (void)snprintf(to, HF__ZK_PATH_MAX, "%s", path);
    }
    return to;
}

int hf__zk_fail(struct hf__zk_ref *f, const struct hf__zk_answer *answer,
                const char *path, bool changes, hf_error *err)
{
    const struct meaning *m = meaning_of(answer->rc);
    int status = m->status;
    char server[256];
    char shown[HF__ZK_PATH_MAX];

    if (status == HF_EUNKNOWN && (!changes || !answer->was_sent)) {
        status = HF_EUNAVAIL;
    }
    return hf__fail_native(
        err, status, answer->rc > 0 ? 0 : answer->rc, "%s: %s: %s%s%s%s",
        hf__zk_server(f, server, sizeof server), hf__zk_path_show(path, shown),
        m->text == NULL ? zerror(answer->rc) : m->text,
        m->remedy == NULL ? "" : " (", m->remedy == NULL ? "" : m->remedy,
        m->remedy == NULL ? "" : ")");
}

int hf__zk_fail_away(struct hf__zk_ref *f, hf_error *err)
{
    char server[256];

    return hf__fail(err, HF_EUNAVAIL,
                    "%s: there is no connection to a server that serves",
                    hf__zk_server(f, server, sizeof server));
}
