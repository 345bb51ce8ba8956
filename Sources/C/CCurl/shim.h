#pragma once
// What the C library declares stays its module's: included again here it would become ours in some builds, and
// files that import Glibc alone would not find it.
#pragma clang module import SwiftGlibc
// Swift cannot call variadic functions: each wrapper below fixes the type of the third argument, so libcurl's
// own macros that check it have nothing to check.
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

typedef size_t (*bramley_transfer_callback)(char *, size_t, size_t, void *);

static inline CURLcode bramley_set_long(CURL *easy, CURLoption option, long value) {
  return curl_easy_setopt(easy, option, value);
}
static inline CURLcode bramley_set_size(CURL *easy, CURLoption option, curl_off_t value) {
  return curl_easy_setopt(easy, option, value);
}
static inline CURLcode bramley_set_string(CURL *easy, CURLoption option, const char *value) {
  return curl_easy_setopt(easy, option, value);
}
static inline CURLcode bramley_set_pointer(CURL *easy, CURLoption option, void *value) {
  return curl_easy_setopt(easy, option, value);
}
// For CURLOPT_WRITEFUNCTION, CURLOPT_HEADERFUNCTION and CURLOPT_READFUNCTION, which have one type.
static inline CURLcode bramley_set_transfer(CURL *easy, CURLoption option, bramley_transfer_callback value) {
  return curl_easy_setopt(easy, option, value);
}
static inline CURLcode bramley_set_prerequest(CURL *easy, curl_prereq_callback value) {
  return curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, value);
}
static inline CURLcode bramley_set_open_socket(CURL *easy, curl_opensocket_callback value) {
  return curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, value);
}
static inline CURLMcode bramley_multi_set_long(CURLM *multi, CURLMoption option, long value) {
  return curl_multi_setopt(multi, option, value);
}
static inline CURLMcode bramley_multi_set_callbacks(
    CURLM *multi, curl_socket_callback socket, curl_multi_timer_callback timer, void *context) {
  curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, context);
  curl_multi_setopt(multi, CURLMOPT_TIMERDATA, context);
  curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, socket);
  return curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, timer);
}
// TLS sessions would otherwise belong to one easy handle, and each transfer has its own.
static inline CURLSHcode bramley_share_sessions(CURLSH *share) {
  return curl_share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
}
