/* Tap of a socket: "unix:/path", or "host:port" by the machine's name service, IPv4 or IPv6. A
 * connection is read to its end. A listener takes one client after the other. */
#define _GNU_SOURCE
#include "runtime/clock.h"
#include "runtime/interrupt.h"
#include "runtime/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    LOOK = 100,    /* milliseconds from one look at the interrupts to the next */
    PATIENCE = 10, /* seconds that a connection has to come about */
};

typedef struct Socket {
    Tap tap;
    int listener, client;    /* or -1 */
    struct sockaddr_un path; /* of a listener: it has made this file; or "" */
} Socket;

/* Addresses. */

static const char *unix_path(const char *address) {
    return strncmp(address, "unix:", 5) ? NULL : address + 5;
}

static FlowStatus fail(const Tap *tap, const char *why) {
    return flow_failure(FLOW_EXIT_resource, "%s: %s", tap->name, why);
}

static FlowStatus set_path(const Tap *tap, const char *path, struct sockaddr_un *address) {
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    size_t size = strlen(path);
    if (!size || size >= sizeof address->sun_path) return fail(tap, "no path of a socket");
    memcpy(address->sun_path, path, size);
    return flow_ok;
}

/* "host:port", "[::1]:port" */
static FlowStatus look_up(const Tap *tap, const char *address, bool passive,
                          struct addrinfo **found) {
    char host[256];
    const char *colon = strrchr(address, ':');
    size_t size = colon ? (size_t)(colon - address) : 0;
    bool bracketed = size > 1 && address[0] == '[' && colon[-1] == ']';
    if (!size || !colon[1] || size >= sizeof host)
        return flow_failure(FLOW_EXIT_usage, "%s: an address is `unix:/path` or `host:port`",
                            tap->name);
    snprintf(host, sizeof host, "%.*s", (int)(bracketed ? size - 2 : size), address + bracketed);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = passive ? AI_PASSIVE : 0};
    int error = getaddrinfo(host, colon + 1, &hints, found);
    return error ? fail(tap, gai_strerror(error)) : flow_ok;
}

/* A socket of the address with which `prepare` succeeds, or -1 and errno. */
static int try_address(const struct sockaddr *address, socklen_t size,
                       bool (*prepare)(int number, const struct sockaddr *, socklen_t)) {
    int number = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (number < 0 || prepare(number, address, size)) return number;
    int error = errno;
    close(number);
    errno = error;
    return -1;
}

static FlowStatus try_all(const Tap *tap, const char *address, bool passive, int *number,
                          bool (*prepare)(int, const struct sockaddr *, socklen_t)) {
    struct addrinfo *found = NULL;
    *number = -1;
    FlowStatus status = look_up(tap, address, passive, &found);
    if (status.exit) return status;
    for (struct addrinfo *one = found; one && *number < 0; one = one->ai_next)
        *number = try_address(one->ai_addr, one->ai_addrlen, prepare);
    status = *number < 0 ? fail(tap, strerror(errno)) : flow_ok;
    freeaddrinfo(found);
    return status;
}

/* Reading. */

static FlowStatus read_connection(Tap *tap, int stopper, char *bytes, size_t room, TapRead *got) {
    return tap_read_descriptor(tap, ((Socket *)tap)->client, stopper, bytes, room, got);
}

static FlowStatus take_client(Socket *own, int stopper, TapRead *got) {
    *got = (TapRead){TAP_stopped, 0};
    while (own->client < 0) {
        if (!tap_wait(own->listener, stopper)) return flow_ok;
        own->client = accept4(own->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        bool passes =
            own->client >= 0 || errno == EINTR || errno == EAGAIN || errno == ECONNABORTED;
        if (!passes) return fail(&own->tap, strerror(errno));
    }
    *got = (TapRead){TAP_flows, 0};
    return flow_ok;
}

/* A client that breaks off has gone as one that ends. */
static FlowStatus read_client(Tap *tap, int stopper, char *bytes, size_t room, TapRead *got) {
    Socket *own = (Socket *)tap;
    FlowStatus status = take_client(own, stopper, got);
    if (status.exit || got->state == TAP_stopped) return status;
    status = tap_read_descriptor(tap, own->client, stopper, bytes, room, got);
    if (!status.exit && got->state != TAP_ended) return status;
    close(own->client);
    own->client = -1;
    *got = (TapRead){TAP_pauses, 0};
    return flow_ok;
}

static void close_socket(Tap *tap) {
    Socket *own = (Socket *)tap;
    if (own->client >= 0) close(own->client);
    if (own->listener >= 0) close(own->listener);
    if (own->path.sun_path[0]) unlink(own->path.sun_path);
    free(own);
}

/* Connecting. */

static bool is_connected(int number) {
    int error = 0;
    socklen_t size = sizeof error;
    if (getsockopt(number, SOL_SOCKET, SO_ERROR, &error, &size)) return false;
    errno = error;
    return !error;
}

static bool connect_in_time(int number, const struct sockaddr *address, socklen_t size) {
    int64_t deadline = clock_nanoseconds() + PATIENCE * INT64_C(1000000000);
    struct pollfd event = {number, POLLOUT, 0};
    if (!connect(number, address, size)) return true;
    if (errno != EINPROGRESS && errno != EINTR) return false;
    while (!interrupted() && clock_nanoseconds() < deadline)
        if (poll(&event, 1, LOOK) > 0) return is_connected(number);
    errno = interrupted() ? EINTR : ETIMEDOUT;
    return false;
}

static FlowStatus open_connection(Socket *own, const char *address) {
    struct sockaddr_un path;
    if (!unix_path(address))
        return try_all(&own->tap, address, false, &own->client, connect_in_time);
    FlowStatus status = set_path(&own->tap, unix_path(address), &path);
    if (status.exit) return status;
    own->client = try_address((struct sockaddr *)&path, sizeof path, connect_in_time);
    return own->client < 0 ? fail(&own->tap, strerror(errno)) : flow_ok;
}

/* Listening. */

static bool listen_there(int number, const struct sockaddr *address, socklen_t size) {
    int on = 1;
    if (address->sa_family != AF_UNIX) setsockopt(number, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    return !bind(number, address, size) && !listen(number, 16);
}

/* Of a program that has not ended well its socket is left, which nobody listens to. */
static bool is_left_over(const struct sockaddr_un *path) {
    struct stat stat;
    int number = -1;
    if (lstat(path->sun_path, &stat) || !S_ISSOCK(stat.st_mode)) return false;
    number = try_address((const struct sockaddr *)path, sizeof *path, connect_in_time);
    bool refused = number < 0 && errno == ECONNREFUSED;
    if (number >= 0) close(number);
    return refused;
}

static FlowStatus open_listener(Socket *own, const char *address) {
    struct sockaddr_un path;
    if (!unix_path(address)) return try_all(&own->tap, address, true, &own->listener, listen_there);
    FlowStatus status = set_path(&own->tap, unix_path(address), &path);
    if (status.exit) return status;
    if (is_left_over(&path)) unlink(path.sun_path);
    own->listener = try_address((struct sockaddr *)&path, sizeof path, listen_there);
    if (own->listener < 0) return fail(&own->tap, strerror(errno));
    own->path = path;
    return flow_ok;
}

static FlowStatus open_socket(const char *what, const char *address,
                              FlowStatus (*open)(Socket *own, const char *address), Tap **tap) {
    char *name;
    *tap = NULL;
    if (asprintf(&name, "%s \"%s\"", what, address) < 0) return tap_no_memory(address);
    Socket *own = tap_new(sizeof *own, name);
    free(name);
    if (!own) return tap_no_memory(address);
    own->listener = own->client = -1;
    own->tap.close = close_socket;
    FlowStatus status = open(own, address);
    if (status.exit) tap_close(&own->tap);
    else *tap = &own->tap;
    return status;
}

FlowStatus tap_of_connection(const char *address, Tap **tap) {
    FlowStatus status = open_socket("connect", address, open_connection, tap);
    if (!status.exit) (*tap)->read = read_connection;
    return status;
}

FlowStatus tap_of_listener(const char *address, Tap **tap) {
    FlowStatus status = open_socket("listen", address, open_listener, tap);
    if (!status.exit) (*tap)->read = read_client;
    return status;
}
