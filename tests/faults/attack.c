/* Attacks on creel-init from inside a sandbox, as the same user. Each prints what the kernel let it do. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int dial(const char *name) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    snprintf(to.sun_path, sizeof to.sun_path, "/.creel/meet/%.64s", name);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) == 0) return fd;
    if (fd >= 0) close(fd);
    return -1;
}

/* Dials every socket of a host as long as it is there; with `keep`, holds the connections to fill its queue. */
static void dial_all(int seconds, int keep) {
    time_t end = time(NULL) + seconds;
    unsigned long dialled = 0;
    while (time(NULL) < end) {
        DIR *dir = opendir("/.creel/meet");
        if (!dir) exit(2);
        for (struct dirent *entry; (entry = readdir(dir));) {
            if (strncmp(entry->d_name, "h-", 2)) continue;
            for (int fd; (fd = dial(entry->d_name)) >= 0;) {
                if (dialled++ == 0) printf("dialled\n"), fflush(stdout);
                /* A frame that claims to be a greeting of init. */
                (void)send(fd, "\1\0\0\0\0\0\0\0", 8, MSG_NOSIGNAL);
                if (!keep) close(fd);
                if (!keep || time(NULL) >= end) break;
            }
        }
        closedir(dir);
    }
    printf("dialled %s\n", dialled ? "some" : "none");
}

static void said(const char *what, int failed) { printf("%s %s\n", what, failed ? strerror(errno) : "ALLOWED"); }

/* Everything that would give power over another process. */
static void touch(pid_t pid) {
    char path[64];
    const char *parts[] = {"mem", "environ", "maps"};
    said("attach", ptrace(PTRACE_ATTACH, pid, 0, 0) < 0);
    said("seize", ptrace(PTRACE_SEIZE, pid, 0, 0) < 0);
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "/proc/%d/%s", pid, parts[i]);
        int fd = open(path, i ? O_RDONLY : O_RDWR);
        said(parts[i], fd < 0);
        if (fd >= 0) close(fd);
    }
    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    DIR *dir = opendir(path);
    said("fd", dir == NULL);
    char byte;
    struct iovec here = {&byte, 1}, there = {(void *)0x400000, 1};
    said("readv", process_vm_readv(pid, &here, 1, &there, 1, 0) < 0);
}

/* A process that is never there when one looks: each generation forks the next in a new session and ends. */
static void comet(void) {
    for (;;) {
        pid_t next = fork();
        if (next > 0) _exit(0);
        if (next == 0) setsid();
    }
}

/* Leaves its parent, its session and its environment behind, then waits. */
static void escape(void) {
    if (fork() > 0) _exit(0);
    setsid();
    if (fork() > 0) _exit(0);
    for (int fd = 0; fd < 64; fd++) close(fd);
    char *none[] = {NULL}, *args[] = {"escaped", "sleep-cleared", NULL};
    execve("/proc/self/exe", args, none);
    _exit(1);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    int number = argc > 2 ? atoi(argv[2]) : 0;
    if (!strcmp(what, "dial")) dial_all(number, 0);
    else if (!strcmp(what, "flood")) dial_all(number, 1);
    else if (!strcmp(what, "touch")) touch(number);
    else if (!strcmp(what, "escape")) escape();
    else if (!strcmp(what, "sleep-cleared")) { for (;;) pause(); }
    else if (!strcmp(what, "comet")) {
        signal(SIGTERM, SIG_IGN);
        for (int i = 0; i < (number ? number : 1); i++) if (fork() == 0) comet();
        printf("launched\n"), fflush(stdout);
        if (argc > 3) _exit(0);
        pause();
    } else if (!strcmp(what, "bomb")) {
        signal(SIGTERM, SIG_IGN);
        for (;;) fork();
    } else if (!strcmp(what, "stop-loop")) {
        for (;;) kill(number, SIGSTOP);
    } else if (!strcmp(what, "limit")) {
        struct rlimit none = {0, 0};
        said("prlimit", prlimit(1, RLIMIT_NOFILE, &none, NULL) < 0);
    } else if (!strcmp(what, "cpu")) {
        struct rlimit none = {1, 1};
        said("prlimit", prlimit(1, RLIMIT_CPU, &none, NULL) < 0);
    } else return 64;
    return 0;
}
