#pragma once
#include <sqlite3.h>

// sqlite3_config is variadic, which Swift cannot call. Memory statistics cost a global lock at every
// allocation. Must run before the first connection opens; later calls do nothing.
static inline int bramley_sqlite_without_statistics(void) {
  return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

// SQLITE_TRANSIENT is a cast that Swift does not import: SQLite copies the bytes before these return.
static inline int bramley_sqlite_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, int count) {
  return sqlite3_bind_blob(statement, index, bytes, count, SQLITE_TRANSIENT);
}

static inline int bramley_sqlite_bind_text(sqlite3_stmt *statement, int index, const char *bytes, int count) {
  return sqlite3_bind_text(statement, index, bytes, count, SQLITE_TRANSIENT);
}
