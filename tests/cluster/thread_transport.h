/* thread_transport - a transport for tests without MPI: ranks are threads of one process, and
 * messages are matched under one lock. */
#ifndef SSM2D_TESTS_THREAD_TRANSPORT_H
#define SSM2D_TESTS_THREAD_TRANSPORT_H

#include "cluster/cluster.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { THREAD_RANKS = 8, POSTS = 4096 };

/* A message that was sent and not received yet, or is free. */
typedef struct post {
    const void *data;
    size_t bytes;
    int from, to, tag, used;
} post;

typedef struct receipt {
    void *data;
    size_t bytes;
    int from, tag, used;
} receipt;

static post posts[POSTS];
static receipt receipts[THREAD_RANKS][POSTS];
static pthread_mutex_t post_lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local int thread_rank;

/* The index of a request: of a post, or from POSTS on of a receipt. */
static int thread_send(const void *data, size_t bytes, int to, int tag, transport_request *r)
{
    int bad = 1;
    pthread_mutex_lock(&post_lock);
    for (int i = 0; i < POSTS && bad; i++)
        if (!posts[i].used) {
            posts[i] = (post){data, bytes, thread_rank, to, tag, 1};
            *r = (transport_request){.handle.number = i, .active = 1};
            bad = 0;
        }
    pthread_mutex_unlock(&post_lock);
    return bad;
}

static int thread_receive(void *data, size_t bytes, int from, int tag, transport_request *r)
{
    for (int i = 0; i < POSTS; i++)
        if (!receipts[thread_rank][i].used) {
            receipts[thread_rank][i] = (receipt){data, bytes, from, tag, 1};
            *r = (transport_request){.handle.number = POSTS + i, .active = 1};
            return 0;
        }
    return 1;
}

static int thread_test(transport_request *r)
{
    if (!r->active) return 0;
    pthread_mutex_lock(&post_lock);
    if (r->handle.number < POSTS) { /* complete when it was taken: used is 2 then */
        post *p = &posts[r->handle.number];
        r->active = p->used != 2;
        if (!r->active) p->used = 0;
    } else {
        receipt *a = &receipts[thread_rank][r->handle.number - POSTS];
        for (int i = 0; i < POSTS && r->active; i++) {
            post *p = &posts[i];
            if (p->used != 1 || p->to != thread_rank || p->from != a->from || p->tag != a->tag)
                continue;
            memcpy(a->data, p->data, a->bytes < p->bytes ? a->bytes : p->bytes);
            p->used = 2;
            a->used = r->active = 0;
        }
    }
    pthread_mutex_unlock(&post_lock);
    return 0;
}

static void thread_leave(void) {}

typedef struct thread_job {
    void (*run)(cluster *c, void *user);
    void *user;
    cluster cluster;
} thread_job;

static void *thread_main(void *arg)
{
    thread_job *j = arg;
    thread_rank = j->cluster.rank;
    j->run(&j->cluster, j->user);
    return NULL;
}

/* Runs a function in `size` threads, each with a cluster that has not exchanged anything yet. */
static void run_threads(int size, void (*run)(cluster *c, void *user), void *user)
{
    static thread_job jobs[THREAD_RANKS];
    pthread_t threads[THREAD_RANKS];
    memset(posts, 0, sizeof posts);
    memset(receipts, 0, sizeof receipts);
    for (int i = 0; i < size; i++) {
        jobs[i] = (thread_job){run, user, cluster_alone()};
        jobs[i].cluster.rank = i;
        jobs[i].cluster.size = size;
        jobs[i].cluster.timeout = 600;
        jobs[i].cluster.transport = (transport){.name = "threads",
                                                .rank = i,
                                                .size = size,
                                                .send = thread_send,
                                                .receive = thread_receive,
                                                .test = thread_test,
                                                .leave = thread_leave};
        if (pthread_create(&threads[i], NULL, thread_main, &jobs[i])) abort();
    }
    for (int i = 0; i < size; i++) pthread_join(threads[i], NULL);
}

#endif
