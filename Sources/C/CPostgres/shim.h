#pragma once
// What the C library declares stays its module's: included again here it would become ours in some builds, and
// files that import Glibc alone would not find it.
#pragma clang module import SwiftGlibc
#include <libpq-fe.h>

// libpq writes the server's notices to stderr where nobody sets a processor; this one drops them.
static inline void bramley_pq_no_notice(void *context, const PGresult *result) {
  (void)context;
  (void)result;
}
static inline void bramley_pq_silence(PGconn *connection) {
  PQsetNoticeReceiver(connection, bramley_pq_no_notice, (void *)0);
}

// The place of a SQLSTATE in an error's fields is a character constant, which Swift does not import.
static inline const char *bramley_pq_state(const PGresult *result) {
  return PQresultErrorField(result, PG_DIAG_SQLSTATE);
}
static inline const char *bramley_pq_message(const PGresult *result) {
  return PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
}
