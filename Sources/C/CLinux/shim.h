#pragma once
// What the C library declares stays its module's: included again here it would become ours in some builds, and
// files that import Glibc alone would not find it.
#pragma clang module import SwiftGlibc
// The Glibc module leaves these headers out.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/timerfd.h>
// accept4 is declared for _GNU_SOURCE alone, which the importer does not define; and including sys/socket.h here
// would make its types this module's instead of Glibc's. The address is a struct sockaddr.
extern int linux_accept4(int, void *address, unsigned int *length, int flags) __asm__("accept4");
// So are these; the actions are a posix_spawn_file_actions_t.
extern int linux_pipe2(int ends[2], int flags) __asm__("pipe2");
extern int linux_spawn_addclosefrom(void *actions, int from) __asm__("posix_spawn_file_actions_addclosefrom_np");
