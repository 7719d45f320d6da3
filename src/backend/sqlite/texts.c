/* SPDX-License-Identifier: MIT */
/*
 * The statements in SQL: what is asked of the tables that schema.c makes. Any
 * thread.
 */
#include "src/backend/sqlite/sql.h"

#define COLUMNS                                                                \
    "key,fence,token,expires,keep_until,keep_us,boot,side,acquired_at,"        \
    "freed_at,broken,label,host,pid,thread,note"
/* Of a name. */
#define NAME_COLUMNS COLUMNS ",beside,line"
/* Of a grant beside others, in the same places. */
#define BESIDE_COLUMNS                                                         \
    "key,fence,token,expires,granted,0,boot,side,acquired_at,0,0,label,host,"  \
    "pid,thread,note,mode,slots,slot,ended"
#define TICKET_COLUMNS                                                         \
    "token,mode,slots,boot,side,since,asked,label,host,pid,thread,note"
#define HAS_BESIDE "EXISTS(SELECT 1 FROM holdfast_beside b WHERE b.key=?1)"
#define HAS_LINE   "EXISTS(SELECT 1 FROM holdfast_ticket t WHERE t.key=?1)"

const char *const hf__sql_texts[HF__SQL_COUNT] = {
    [HF__SQL_BEGIN_READ] = "BEGIN",
    [HF__SQL_BEGIN_WRITE] = "BEGIN IMMEDIATE",
    [HF__SQL_COMMIT] = "COMMIT",
    [HF__SQL_ROLLBACK] = "ROLLBACK",
    [HF__SQL_GET] = "SELECT " NAME_COLUMNS " FROM holdfast_lock WHERE key=?1",
    [HF__SQL_PUT] = "INSERT OR REPLACE INTO holdfast_lock(" NAME_COLUMNS
                    ") VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,0,?10,?11,?12,?13,"
                    "?14,?15,?16,?17)",
    [HF__SQL_RENEW] =
        "UPDATE holdfast_lock SET expires=?1,side=iif(?6,NULL,side) "
        "WHERE key=?2 AND token=?3 AND expires>?4 AND boot=?5",
    [HF__SQL_FREE] = "UPDATE holdfast_lock SET token=NULL,expires=0,side=NULL,"
                     "keep_us=iif(?1,0,keep_us),freed_at=?2 "
                     "WHERE key=?3 AND token=?4 AND line=0",
    [HF__SQL_CHANGE] =
        "UPDATE holdfast_lock SET fence=?2,broken=?3,token=iif(?4,token,NULL),"
        "side=iif(?5,side,NULL),expires=coalesce(?6,expires),keep_us=iif(?7,?8,"
        "keep_us),"
        "keep_until=iif(?7,?9,keep_until),freed_at=iif(?10,?10,freed_at),"
        "beside=iif(?11," HAS_BESIDE ",beside),line=iif(?11," HAS_LINE ",line) "
        "WHERE key=?1",
    [HF__SQL_PART] = "UPDATE holdfast_lock SET side=NULL "
                     "WHERE key=?1 AND token=?2",
    [HF__SQL_MARK] = "UPDATE holdfast_lock SET beside=" HAS_BESIDE
                     ",line=" HAS_LINE " WHERE key=?1",
    [HF__SQL_SCAN] = "SELECT key FROM holdfast_lock "
                     "WHERE key>=?1 AND key<?2 "
                     "AND length(CAST(key AS BLOB))<=?4 "
                     "AND (?5 OR token IS NOT NULL OR beside) "
                     "ORDER BY key LIMIT ?3",
    [HF__SQL_DELETE] = "DELETE FROM holdfast_lock WHERE key=?1",
    [HF__SQL_BESIDE] = "SELECT " BESIDE_COLUMNS " FROM holdfast_beside "
                       "WHERE key=?1 AND (?3 OR mode<>1 OR token=?2 "
                       "OR expires<=?4) ORDER BY fence",
    [HF__SQL_BESIDE_OF] = "SELECT " BESIDE_COLUMNS " FROM holdfast_beside "
                          "WHERE key=?1 AND token=?2",
    [HF__SQL_BESIDE_PUT] =
        "INSERT OR REPLACE INTO holdfast_beside"
        "(key,token,fence,mode,slots,slot,expires,granted,boot,side,"
        "acquired_at,ended,label,host,pid,thread,note) VALUES"
        "(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,0,?12,?13,?14,?15,?16)",
    [HF__SQL_BESIDE_CHANGE] =
        "UPDATE holdfast_beside SET fence=?3,expires=coalesce(?4,expires),"
        "side=iif(?5,side,NULL),ended=?6 WHERE key=?1 AND token=?2",
    [HF__SQL_BESIDE_PART] = "UPDATE holdfast_beside SET side=NULL "
                            "WHERE key=?1 AND token=?2",
    [HF__SQL_BESIDE_LEAVE] = "DELETE FROM holdfast_beside "
                             "WHERE key=?1 AND token=?2",
    [HF__SQL_BESIDE_DELETE] = "DELETE FROM holdfast_beside WHERE key=?1",
    [HF__SQL_LINE] = "SELECT " TICKET_COLUMNS " FROM holdfast_ticket "
                     "WHERE key=?1 ORDER BY seq",
    [HF__SQL_LINE_OF] = "SELECT " TICKET_COLUMNS " FROM holdfast_ticket "
                        "WHERE key=?1 AND token=?2",
    [HF__SQL_LINE_JOIN] =
        "INSERT OR IGNORE INTO holdfast_ticket"
        "(key,seq,token,mode,slots,boot,side,since,asked,"
        "label,host,pid,thread,note) "
        "SELECT ?1,coalesce(max(seq),0)+1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,"
        "?13 FROM holdfast_ticket WHERE key=?1",
    [HF__SQL_LINE_LEAVE] = "DELETE FROM holdfast_ticket "
                           "WHERE key=?1 AND token=?2",
    [HF__SQL_LINE_DELETE] = "DELETE FROM holdfast_ticket WHERE key=?1",
    [HF__SQL_CELL] =
        "SELECT version,writer,value,typeof(version)='integer' AND version>0 "
        "AND version<(1<<53) AND typeof(writer)='blob' AND length(writer)=16 "
        "AND (value IS NULL OR typeof(value)='blob' AND length(value)<=65536) "
        "FROM holdfast_cell WHERE key=?1",
    [HF__SQL_CELL_PUT] =
        "INSERT INTO holdfast_cell(key,version,writer,value) "
        "VALUES(?1,?2,?3,?4) ON CONFLICT(key) DO UPDATE SET "
        "version=excluded.version,writer=excluded.writer,value=excluded.value",
    [HF__SQL_CELL_CLEAN] =
        "DELETE FROM holdfast_cell WHERE rowid IN (SELECT rowid "
        "FROM holdfast_cell INDEXED BY holdfast_tombstone "
        "WHERE value IS NULL AND key>=?1 AND key<?1||x'ff' "
        "AND typeof(version)='integer' AND version>0 AND version<?2 "
        "AND typeof(writer)='blob' AND length(writer)=16 LIMIT ?3) "
        "RETURNING version",
    [HF__SQL_GET_META] = "SELECT boot,fence_base,fence_ceiling "
                         "FROM holdfast_meta WHERE id=1",
    [HF__SQL_PUT_META] =
        "INSERT OR REPLACE INTO holdfast_meta"
        "(id,boot,fence_base,fence_ceiling) VALUES(1,?1,?2,?3)",
    [HF__SQL_RAISE_BASE] = "UPDATE holdfast_meta SET fence_base=?1 "
                           "WHERE id=1 AND fence_base<?1",
    [HF__SQL_PAGES] = "PRAGMA page_count",
};
