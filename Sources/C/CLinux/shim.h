#pragma once
// The Glibc module leaves these headers out.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <sys/socket.h>
// Declared there for _GNU_SOURCE alone, which the importer does not define.
extern int accept4(int, struct sockaddr *, socklen_t *, int);
