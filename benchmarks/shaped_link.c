// Passes every connection on to a port of this machine, as a link of so much bandwidth and delay would.
//
// shaped_link PORT BITS_PER_SECOND DELAY_SECONDS prints the port on which it listens, and ends with its input.
// Each way of a connection has a thread that reads and one that sends: a chunk is sent when the link would have carried
// it and all before it, and its delay is over. In C, as the link of another machine takes no processor time of these.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CHUNK_BYTES = 1 << 16, CHUNKS = 64 };

static double bits_per_s, delay_s;
static int target_port;

typedef struct {
    double due_s;
    ssize_t bytes;
    char content[CHUNK_BYTES];
} Chunk;

typedef struct {
    int source, sink;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned long taken, given;
    Chunk chunks[CHUNKS];
} Way;

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void sleep_until(double end_s) {
    struct timespec end = {.tv_sec = (time_t)end_s};
    end.tv_nsec = (long)(1e9 * (end_s - (double)end.tv_sec));
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) != 0) {
    }
}

static void *read_all(void *argument) {
    Way *way = argument;
    double free_at_s = 0.0;
    for (;;) {
        pthread_mutex_lock(&way->lock);
        while (way->taken - way->given == CHUNKS)
            pthread_cond_wait(&way->changed, &way->lock);
        Chunk *chunk = &way->chunks[way->taken % CHUNKS];
        pthread_mutex_unlock(&way->lock);
        const ssize_t bytes = recv(way->source, chunk->content, CHUNK_BYTES, 0);
        chunk->bytes = bytes > 0 ? bytes : 0;
        const double now = now_s();
        free_at_s = (free_at_s > now ? free_at_s : now) + 8.0 * (double)chunk->bytes / bits_per_s;
        chunk->due_s = free_at_s + delay_s;
        const int is_last = chunk->bytes == 0;
        pthread_mutex_lock(&way->lock);
        ++way->taken;
        pthread_cond_signal(&way->changed);
        pthread_mutex_unlock(&way->lock);
        if (is_last)
            return NULL;
        sleep_until(free_at_s);  // nothing is read that the link could not have taken yet: the sender must feel it
    }
}

static void *send_all(void *argument) {
    Way *way = argument;
    for (;;) {
        pthread_mutex_lock(&way->lock);
        while (way->taken == way->given)
            pthread_cond_wait(&way->changed, &way->lock);
        Chunk *chunk = &way->chunks[way->given % CHUNKS];
        pthread_mutex_unlock(&way->lock);
        sleep_until(chunk->due_s);
        if (chunk->bytes == 0) {
            shutdown(way->sink, SHUT_WR);
            return NULL;
        }
        for (ssize_t sent = 0; sent < chunk->bytes;) {
            const ssize_t bytes = send(way->sink, chunk->content + sent, (size_t)(chunk->bytes - sent), MSG_NOSIGNAL);
            if (bytes <= 0) {
                shutdown(way->source, SHUT_RD);
                return NULL;
            }
            sent += bytes;
        }
        pthread_mutex_lock(&way->lock);
        ++way->given;
        pthread_cond_signal(&way->changed);
        pthread_mutex_unlock(&way->lock);
    }
}

static void start(int source, int sink) {
    Way *way = calloc(1, sizeof *way);
    pthread_t reader, sender;
    way->source = source;
    way->sink = sink;
    pthread_mutex_init(&way->lock, NULL);
    pthread_cond_init(&way->changed, NULL);
    pthread_create(&reader, NULL, read_all, way);
    pthread_create(&sender, NULL, send_all, way);
    pthread_detach(reader);
    pthread_detach(sender);
}

static struct sockaddr_in loopback(int port) {
    struct sockaddr_in found = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
    found.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return found;
}

static void *accept_all(void *argument) {
    const int listener = *(int *)argument, yes = 1;
    for (;;) {
        const int here = accept(listener, NULL, NULL);
        const int there = socket(AF_INET, SOCK_STREAM, 0);
        const struct sockaddr_in target = loopback(target_port);
        if (here < 0 || connect(there, (const struct sockaddr *)&target, sizeof target) != 0) {
            close(here);
            close(there);
            continue;
        }
        setsockopt(here, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        setsockopt(there, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        start(here, there);
        start(there, here);
    }
    return NULL;
}

int main(int count, char **arguments) {
    if (count != 4)
        return 2;
    target_port = atoi(arguments[1]);
    bits_per_s = atof(arguments[2]);
    delay_s = atof(arguments[3]);
    prctl(PR_SET_TIMERSLACK, 1000L);
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in own = loopback(0);
    socklen_t size = sizeof own;
    if (bind(listener, (const struct sockaddr *)&own, size) != 0 || listen(listener, 16) != 0)
        return 1;
    getsockname(listener, (struct sockaddr *)&own, &size);
    printf("%d\n", ntohs(own.sin_port));
    fflush(stdout);
    pthread_t acceptor;
    pthread_create(&acceptor, NULL, accept_all, &listener);
    while (getchar() != EOF) {
    }
    return 0;
}
