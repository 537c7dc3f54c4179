/* SPDX-License-Identifier: MIT */
/* serve.c: implements `neso inspect --serve`, a server for one page. Only this machine can reach the server.
 *
 *     GET  /               the page
 *     GET  /build.json?..  a build of the file                       (live.c)
 *     POST /build.json?..  a build of the source in the body
 *     GET  /template.html  the page without data; to save itself as a file, the page inserts its data
 *     GET  /events         stays open; sends an event when a file is saved
 *
 * One thread answers one request after the other, which suffices because a build takes milliseconds. The Host header
 * of a request, and the Origin header if there is one, must name this machine and the server's port. So pages
 * of other sites cannot use the server. */
#include "runtime/command/inspect/inspect.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { LISTENERS_MOST = 16, REQUEST_MOST = 8 << 20, LOOK_MS = 15, WAIT_SECONDS = 2 };

struct server {
    const struct live *live;
    int socket, port;
    int listeners[LISTENERS_MOST], nlisteners; /* connections that wait for events */
};

/* -- requests -- */

struct request {
    struct buffer text;
    char *method, *path, *query, *headers, *body;
};

/* Returns the start of a header's value, which ends at the end of its line; NULL if there is no such header. */
static const char *find_header(const char *headers, const char *name)
{
    size_t n = strlen(name);
    for (const char *s = headers; s && *s; s = strchr(s, '\n'), s = s ? s + 1 : NULL)
        if (strncasecmp(s, name, n) == 0 && s[n] == ':')
            return s + n + 1 + strspn(s + n + 1, " ");
    return NULL;
}

/* Reads a whole request. Returns false if the request is too long, or if its end does not arrive in time. */
static bool receive(int connection, struct buffer *text)
{
    char piece[16384];
    for (;;) {
        const char *end = text->n ? strstr(text->s, "\r\n\r\n") : NULL,
                   *length = end ? find_header(text->s, "Content-Length") : NULL;
        size_t body = length && length < end ? (size_t)strtoul(length, NULL, 10) : 0;
        if (body > REQUEST_MOST)
            return false;
        if (end && text->n >= (size_t)(end - text->s) + 4 + body)
            return true;
        ssize_t n = recv(connection, piece, sizeof piece, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0 || text->n + (size_t)n > REQUEST_MOST)
            return false;
        put_bytes(text, piece, (size_t)n);
    }
}

/* Splits a request into its first line, "GET /path?query HTTP/1.1", its headers and its body. */
static bool split(struct request *r)
{
    char *line_end = strstr(r->text.s, "\r\n"), *end = strstr(r->text.s, "\r\n\r\n");
    if (!line_end || !end)
        return false;
    r->headers = line_end == end ? end : line_end + 2;
    r->body = end + 4;
    *end = *line_end = '\0';
    r->method = r->text.s;
    r->path = strchr(r->method, ' ');
    if (!r->path)
        return false;
    *r->path++ = '\0';
    r->path[strcspn(r->path, " ")] = '\0';
    r->query = strchr(r->path, '?');
    if (r->query)
        *r->query++ = '\0';
    else
        r->query = r->path + strlen(r->path);
    return true;
}

/* Returns whether the line at `at` is "127.0.0.1:PORT" or "localhost:PORT", with the port of this server. */
static bool is_this_host(const struct server *s, const char *at)
{
    static const char *const names[] = {"127.0.0.1", "localhost"};
    char host[40];
    for (int i = 0; i < 2; i++) {
        int n = snprintf(host, sizeof host, "%s:%d", names[i], s->port);
        if (strncmp(at, host, (size_t)n) == 0 && strchr("\r\n", at[n]))
            return true;
    }
    return false;
}

static bool may_ask(const struct server *s, const struct request *r)
{
    const char *host = find_header(r->headers, "Host"), *origin = find_header(r->headers, "Origin");
    return host && is_this_host(s, host) &&
           (!origin || (strncmp(origin, "http://", 7) == 0 && is_this_host(s, origin + 7)));
}

/* -- answers -- */

static bool send_all(int connection, const char *s, size_t n)
{
    while (n) {
        ssize_t sent = send(connection, s, n, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        s += sent;
        n -= (size_t)sent;
    }
    return true;
}

static void answer(int connection, const char *status, const char *type, const struct buffer *body)
{
    struct buffer head = {0};
    put_format(&head, "HTTP/1.1 %s\r\nContent-Type: %s; charset=utf-8\r\nContent-Length: %zu\r\n", status,
               type, body->n);
    put_string(&head,
               "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n");
    if (send_all(connection, head.s, head.n))
        send_all(connection, body->s ? body->s : "", body->n);
    buffer_free(&head);
}

static void refuse(int connection, const char *status)
{
    struct buffer body = {0};
    put_format(&body, "%s\n", status);
    answer(connection, status, "text/plain", &body);
    buffer_free(&body);
}

/* Keeps a connection open, so that events can be sent on it. If there are too many such connections, closes the
 * oldest. */
static void add_listener(struct server *s, int connection)
{
    static const char head[] =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n\r\nretry: 500\n\n";
    if (s->nlisteners == LISTENERS_MOST) {
        close(s->listeners[0]);
        memmove(s->listeners, s->listeners + 1, (LISTENERS_MOST - 1) * sizeof *s->listeners);
        s->nlisteners--;
    }
    send_all(connection, head, sizeof head - 1);
    s->listeners[s->nlisteners++] = connection;
}

static void tell_listeners(struct server *s)
{
    static const char event[] = "data: saved\n\n";
    int kept = 0;
    for (int i = 0; i < s->nlisteners; i++)
        if (send_all(s->listeners[i], event, sizeof event - 1))
            s->listeners[kept++] = s->listeners[i];
        else
            close(s->listeners[i]);
    s->nlisteners = kept;
}

/* Answers a request. Returns true if the connection stays open. */
static bool respond(struct server *s, int connection, const struct request *r)
{
    struct buffer body = {0};
    bool posts = strcmp(r->method, "POST") == 0, gets = strcmp(r->method, "GET") == 0;
    struct wish w = {r->query, posts ? r->body : NULL};
    const char *type = "text/html";
    if (!may_ask(s, r))
        return refuse(connection, "403 Forbidden"), false;
    if (gets && strcmp(r->path, "/events") == 0)
        return add_listener(s, connection), true;
    if (gets && strcmp(r->path, "/") == 0) {
        struct buffer data = {0};
        live_page_data(s->live, &w, &data);
        put_page(&body, data.s);
        buffer_free(&data);
    } else if (gets && strcmp(r->path, "/template.html") == 0) {
        put_page(&body, NULL);
    } else if ((gets || posts) && strcmp(r->path, "/build.json") == 0) {
        live_build(s->live, &w, &body);
        type = "application/json";
    } else {
        return refuse(connection, gets || posts ? "404 Not Found" : "405 Method Not Allowed"), false;
    }
    answer(connection, "200 OK", type, &body);
    buffer_free(&body);
    return false;
}

static void accept_one(struct server *s)
{
    struct timeval patience = {.tv_sec = WAIT_SECONDS};
    struct request r = {.text = {0}};
    int connection = accept(s->socket, NULL, NULL);
    if (connection < 0)
        return;
    setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (!receive(connection, &r.text) || !split(&r)) {
        if (r.text.n) /* skip empty requests: browsers open connections that they do not use */
            refuse(connection, "400 Bad Request");
        close(connection);
    } else if (!respond(s, connection, &r)) {
        close(connection);
    }
    buffer_free(&r.text);
}

/* -- the server -- */

static int open_port(struct server *s, const char *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    char *end;
    int yes = 1;
    long n = *port ? strtol(port, &end, 10) : 0;
    if (*port && (*end || end == port || n < 0 || n > 65535))
        return complain("--serve: expected a port from 1 to 65535, found '%s'", port);
    address.sin_port = htons((unsigned short)n);
    s->socket = socket(AF_INET, SOCK_STREAM, 0);
    if (s->socket >= 0)
        setsockopt(s->socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (s->socket < 0 || bind(s->socket, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(s->socket, 16) != 0 || getsockname(s->socket, (struct sockaddr *)&address, &size) != 0)
        return complain("--serve: cannot listen on port %ld of this machine: %s", n, strerror(errno));
    s->port = ntohs(address.sin_port);
    return GOOD;
}

int serve(const struct live *l, const char *port)
{
    struct server s = {.live = l};
    size_t length;
    char *text = read_file(l->path, &length);
    if (!text)
        return complain("cannot read %s: %s", l->path, strerror(errno));
    free(text);
    if (open_port(&s, port) != GOOD)
        return BAD;
    printf("http://127.0.0.1:%d/\n", s.port);
    fflush(stdout);
    unsigned long stamp = sources_stamp(l->path);
    for (;;) {
        struct pollfd wait = {.fd = s.socket, .events = POLLIN};
        if (poll(&wait, 1, s.nlisteners ? LOOK_MS : -1) > 0)
            accept_one(&s);
        unsigned long now = sources_stamp(l->path);
        if (now != stamp)
            tell_listeners(&s);
        stamp = now;
    }
}
