#include "starting_ranks.h"

#include "cluster/watchdog.h"
#include "core/printable.h"
#include "io/file_open.h"
#include "keeper.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_TEXT = 1 << 18, MAX_RANKS = 4096, MAX_DEPTH = 16 };

/* Reads the beginning of /proc/PROCESS/NAME and appends a NUL; returns its length, 0 if it cannot
 * be read. */
static size_t read_proc(long process, const char *name, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/%s", process, name);
    const int fd = file_fd(AT_FDCWD, path, FILE_READ, NULL);
    size_t length = 0;
    for (ssize_t got = 1; fd >= 0 && got > 0 && length < size - 1; length += (size_t)got) {
        got = read(fd, text + length, size - 1 - length);
        if (got < 0) got = 0;
    }
    if (fd >= 0) close(fd);
    text[length] = 0;
    return length;
}

/* The rank in the environment of a process; -1: none. Not thread-safe. */
static int rank_of(long process, const char *variable)
{
    static char text[MAX_TEXT];
    const size_t length = read_proc(process, "environ", text, sizeof text);
    const size_t name = strlen(variable);
    for (size_t at = 0; at < length; at += strlen(text + at) + 1)
        if (!strncmp(text + at, variable, name) && text[at + name] == '=')
            return atoi(text + at + name + 1);
    return -1;
}

static long parent_of(long process)
{
    char text[512], state;
    long parent = 0;
    read_proc(process, "stat", text, sizeof text);
    const char *end = strrchr(text, ')'); /* the name before it may contain any character */
    return end && sscanf(end + 1, " %c %ld", &state, &parent) == 2 ? parent : 0;
}

/* The process of a rank that the launcher itself started, the ancestor of shells and keepers. */
static long head_of(long process, int rank, const char *variable)
{
    for (int depth = 0; depth < MAX_DEPTH; depth++) {
        const long parent = parent_of(process);
        if (parent <= 1 || rank_of(parent, variable) != rank) break;
        process = parent;
    }
    return process;
}

/* The program of a process, from the process table. */
static void name_program(long process, char *name, size_t size)
{
    const size_t length = read_proc(process, "comm", name, size);
    if (length) name[length - 1] = 0; /* a newline */
    printable(name);
}

/* Whether the process is the keeper of a rank. Its command line says so as well, but may be
 * truncated. */
static int is_keeper(long process, int rank)
{
    char name[32], wanted[32];
    snprintf(wanted, sizeof wanted, KEEPER_NAME, rank);
    name_program(process, name, sizeof name);
    return !strcmp(name, wanted);
}

typedef struct seen {
    long head, kept; /* the first process, and the one that a keeper supervises; 0: none */
} seen;

static void look_at(long process, const launcher *l, long starter, seen *ranks)
{
    const int rank = rank_of(process, l->variable);
    if (rank < 0 || rank >= MAX_RANKS) return;
    const long head = head_of(process, rank, l->variable);
    if (parent_of(head) != starter) return; /* of another job */
    ranks[rank].head = head;
    if (is_keeper(parent_of(process), rank)) ranks[rank].kept = process;
}

/* Sets the fault of a rank, if it has one. */
static int find_fault(const seen *s, int rank, start_fault fault, starting_ranks *out)
{
    const int is_stopped = s->kept && process_state_of(s->kept) == PROCESS_STOPPED;
    const int found = fault == START_OTHER     ? s->head && !s->kept
                      : fault == START_STOPPED ? is_stopped
                                               : !s->head;
    if (!found) return 0;
    out->fault = fault;
    out->rank = rank;
    out->process = s->kept ? s->kept : s->head;
    if (fault == START_OTHER) name_program(s->head, out->name, sizeof out->name);
    return 1;
}

starting_ranks starting_ranks_look(const launcher *l)
{
    static seen ranks[MAX_RANKS];
    static const start_fault faults[] = {START_OTHER, START_STOPPED, START_ABSENT};
    starting_ranks out = {.first = -1, .rank = -1};
    const long starter = parent_of(head_of((long)getpid(), l->rank, l->variable));
    const int count = l->size < MAX_RANKS ? l->size : MAX_RANKS;
    DIR *dir = opendir("/proc");
    if (!dir) return out;
    memset(ranks, 0, sizeof ranks);
    for (struct dirent *one; (one = readdir(dir));) {
        char *end;
        const long process = strtol(one->d_name, &end, 10);
        if (process > 0 && !*end) look_at(process, l, starter, ranks);
    }
    closedir(dir);
    for (int i = count - 1; i >= 0; i--)
        if (ranks[i].kept) out.first = i;
    for (size_t f = 0; f < sizeof faults / sizeof *faults; f++)
        for (int i = 0; i < count; i++)
            if (find_fault(&ranks[i], i, faults[f], &out)) return out;
    return out;
}

void starting_ranks_describe(const starting_ranks *r, const launcher *l, double seconds, char *line,
                             size_t size)
{
    static const char remedy[] =
        "the job ends; start ssm2d in every process, or raise SSM2D_MPI_TIMEOUT";
    char host[64] = "?";
    (void)!gethostname(host, sizeof host - 1);
    if (r->fault == START_OTHER)
        snprintf(line, size,
                 "rank %d (%s, process %ld, %s) has not started MPI for %.0f seconds: %s", r->rank,
                 host, r->process, r->name, seconds, remedy);
    else if (r->fault == START_STOPPED)
        snprintf(
            line, size,
            "rank %d (%s, process %ld) has not started MPI for %.0f seconds, as it is stopped: "
            "the job ends",
            r->rank, host, r->process, seconds);
    else if (r->fault == START_ABSENT)
        snprintf(line, size,
                 "rank %d of %d has ended, or is on another machine than %s, and has not started "
                 "MPI for %.0f seconds: %s",
                 r->rank, l->size, host, seconds, remedy);
    else
        snprintf(line, size,
                 "rank %d has waited for %.0f seconds for all processes to start MPI: %s", l->rank,
                 seconds, remedy);
}
