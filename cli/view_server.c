/* A server for one page on this machine's loopback interface: GET of the page and of the run's files, and where runs are
   simulated here POST of what to run (view_native.c); with the token that is in the address, and only from the page
   itself. There are no paths: files have numbers, and so have the cases of a sweep, each simulated when it is asked for. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "view.h"

#ifdef KN_HAVE_CIVETWEB
#include <civetweb.h>
#include <spawn.h>

enum { TOKEN = 32 };

typedef struct site {
  const kn_view* view;
  char* page;
  size_t size;
  char token[TOKEN + 1];
  int port;
} site;

static int answer(struct mg_connection* c, int status, const char* meaning, const char* type,
                  const void* body, size_t size) {
  mg_printf(c,
            "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nCache-Control: no-store\r\n"
            "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
            "Cross-Origin-Resource-Policy: same-origin\r\nX-Frame-Options: DENY\r\nConnection: close\r\n\r\n",
            status, meaning, type, size);
  for (size_t at = 0; at < size;) {
    size_t part = size - at < (1u << 20) ? size - at : 1u << 20;
    if (mg_write(c, (const char*)body + at, part) <= 0) break;
    at += part;
  }
  return status;
}

static int refuse(struct mg_connection* c, int status, const char* meaning) {
  return answer(c, status, meaning, "text/plain; charset=utf-8", meaning, strlen(meaning));
}

/* The same time for every wrong token. */
static bool right_token(const site* s, const char* query) {
  char given[TOKEN + 2] = "";
  unsigned wrong = 0;
  if (!query || mg_get_var(query, strlen(query), "token", given, sizeof given) != TOKEN) return false;
  for (int i = 0; i < TOKEN; i++) wrong |= (unsigned)(given[i] ^ s->token[i]);
  return wrong == 0;
}

/* "localhost:PORT" or "127.0.0.1:PORT": a name of somewhere else that leads here is refused. */
static bool own_name(const site* s, const char* host) {
  char known[64];
  if (!host) return false;
  snprintf(known, sizeof known, "127.0.0.1:%d", s->port);
  if (strcmp(host, known) == 0) return true;
  snprintf(known, sizeof known, "localhost:%d", s->port);
  return strcmp(host, known) == 0;
}

static bool own_origin(const site* s, const char* origin) {
  return !origin || (strncmp(origin, "http://", 7) == 0 && own_name(s, origin + 7));
}

/* ---- a run that is simulated here ---- */

enum { MAX_ASKED = 4096 };

static bool begin_stream(void* to) {
  return mg_printf(to,
                   "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nCache-Control: no-store\r\n"
                   "X-Content-Type-Options: nosniff\r\nCross-Origin-Resource-Policy: same-origin\r\n"
                   "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n") > 0;
}

static bool send_bytes(void* to, const void* bytes, size_t size) {
  for (size_t at = 0; at < size;) {
    unsigned part = size - at < (1u << 20) ? (unsigned)(size - at) : 1u << 20;
    if (mg_send_chunk(to, (const char*)bytes + at, part) <= 0) return false;
    at += part;
  }
  return true;
}

/* What the page asked for, a text of at most MAX_ASKED letters; free it. NULL: something else was sent. */
static char* read_asked(struct mg_connection* c) {
  char* asked = malloc(MAX_ASKED + 1);
  int used = 0, n = 1;
  while (asked && used < MAX_ASKED && n > 0) {
    n = mg_read(c, asked + used, (size_t)(MAX_ASKED - used));
    if (n > 0) used += n;
  }
  if (asked) asked[used] = '\0';
  if (asked && used < MAX_ASKED && strlen(asked) == (size_t)used) return asked;
  free(asked);
  return NULL;
}

static int run_here(struct mg_connection* c, const site* s) {
  char* asked = read_asked(c);
  bool ok = asked && kn_view_native(s->view, asked, begin_stream, send_bytes, c);
  free(asked);
  if (!ok) return refuse(c, 400, "Bad Request");
  mg_send_chunk(c, "", 0);
  return 200;
}

/* ---- a case of a sweep ---- */

extern char** environ;

/* `knuckle view STUDY --case N --html FILE`, with what it complains about in another file; whether it wrote the page. */
static bool write_case(const site* s, const char* number, const char* html, const char* why) {
  const char* words[] = {"knuckle", "view", s->view->study, "--case", number,
                         "--html",  html,   "--quiet",      NULL};
  posix_spawn_file_actions_t files;
  pid_t child;
  int status = -1;
  if (posix_spawn_file_actions_init(&files) != 0) return false;
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, why, O_WRONLY | O_CREAT, 0600);
  posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
  if (posix_spawn(&child, "/proc/self/exe", &files, NULL, (char**)(size_t)words, environ) == 0)
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  posix_spawn_file_actions_destroy(&files);
  return status == 0;
}

/* The page that replays one case; its number has been checked to be digits. */
static int replay(struct mg_connection* c, const site* s, const char* number) {
  char folder[] = "/tmp/knuckle-case-XXXXXX", html[64], why[64];
  size_t size = 0;
  if (!mkdtemp(folder)) return refuse(c, 500, "no folder in /tmp for the page");
  snprintf(html, sizeof html, "%s/case.html", folder);
  snprintf(why, sizeof why, "%s/why.txt", folder);
  bool good = write_case(s, number, html, why);
  char* text = kn_plain_file(&size, good ? html : why);
  int status = !text  ? refuse(c, 500, "the case could not be run")
               : good ? answer(c, 200, "OK", "text/html; charset=utf-8", text, size)
                      : answer(c, 500, "Failed", "text/plain; charset=utf-8", text, size);
  free(text);
  remove(html), remove(why), rmdir(folder);
  return status;
}

/* ---- requests ---- */

static int request(struct mg_connection* c, void* context) {
  const site* s = context;
  const struct mg_request_info* r = mg_get_request_info(c);
  const char *path = r->local_uri, *origin = mg_get_header(c, "Origin");
  char* end = NULL;
  bool post = strcmp(r->request_method, "POST") == 0;
  if (post ? !s->view->native : strcmp(r->request_method, "GET") != 0)
    return refuse(c, 405, "Method Not Allowed");
  if (!own_name(s, mg_get_header(c, "Host")) || !own_origin(s, origin) || (post && !origin) ||
      !right_token(s, r->query_string))
    return refuse(c, 403, "Forbidden");
  if (post) return strcmp(path, "/run") == 0 ? run_here(c, s) : refuse(c, 404, "Not Found");
  if (strcmp(path, "/") == 0) return answer(c, 200, "OK", "text/html; charset=utf-8", s->page, s->size);
  if (s->view->sweep && strncmp(path, "/case/", 6) == 0 && path[6] &&
      strspn(path + 6, "0123456789") == strlen(path + 6))
    return strlen(path + 6) < 10 ? replay(c, s, path + 6) : refuse(c, 404, "Not Found");
  long i =
      strncmp(path, "/data/", 6) == 0 && path[6] >= '0' && path[6] <= '9' ? strtol(path + 6, &end, 10) : -1;
  if (i < 0 || i >= s->view->files || *end) return refuse(c, 404, "Not Found");
  return answer(c, 200, "OK", "application/octet-stream", s->view->file[i].bytes, s->view->file[i].size);
}

static bool make_token(char token[TOKEN + 1]) {
  uint8_t bytes[TOKEN / 2];
  if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) return false;
  for (int i = 0; i < TOKEN / 2; i++) sprintf(token + 2 * i, "%02x", bytes[i]);
  return true;
}

static void open_browser(const char* url) {
  pid_t child;
  char* argv[] = {(char*)(size_t) "xdg-open", (char*)(size_t)url, NULL};
  if (!getenv("DISPLAY") && !getenv("WAYLAND_DISPLAY")) return;
  posix_spawn_file_actions_t quiet;
  if (posix_spawn_file_actions_init(&quiet) != 0) return;
  posix_spawn_file_actions_addopen(&quiet, STDERR_FILENO, "/dev/null", 1, 0); /* 1: write only */
  if (posix_spawnp(&child, argv[0], &quiet, NULL, argv, environ) != 0) child = -1;
  posix_spawn_file_actions_destroy(&quiet);
}

static kn_exit tell(const site* s, const kn_args* args) {
  char url[128];
  snprintf(url, sizeof url, "http://127.0.0.1:%d/?token=%s", s->port, s->token);
  if (args->json) {
    kn_json j;
    kn_json_start(&j);
    kn_json_text(&j, "url", url);
    kn_json_text(&j, "engine", s->view->native ? "native" : "page");
    return kn_json_finish(&j, KN_EXIT_OK);
  }
  printf("look at it: %s\n", url);
  if (!args->quiet) {
    if (s->view->native) printf("simulated here and streamed to the page\n");
    printf("from another machine: ssh -L %d:127.0.0.1:%d THIS-MACHINE, then the same address\n", s->port,
           s->port);
    printf("Ctrl-C ends it\n");
  }
  return fflush(stdout) == 0 ? KN_EXIT_OK : KN_EXIT_WRITE;
}

kn_exit kn_view_serve(const kn_view* view, const kn_args* args, int port, bool browser) {
  site s = {.view = view};
  struct mg_server_port at[1];
  struct mg_callbacks none = {0};
  char listen[32], url[128];
  snprintf(listen, sizeof listen, "127.0.0.1:%d", port);
  const char* options[] = {"listening_ports",          listen, "num_threads", "4",
                           "enable_directory_listing", "no",   NULL};
  if (!make_token(s.token)) return kn_complain(args, KN_EXIT_VIOLATION, "no random numbers for the token");
  char index[4200];
  snprintf(index, sizeof index, "%s/index.html", view->sweep ? view->sweep : "");
  s.page = view->sweep ? kn_plain_file(&s.size, index) : kn_view_page(&s.size, view, args, s.token);
  if (!s.page && view->sweep)
    kn_complain(args, KN_EXIT_INPUT, "%s: %s; `knuckle sweep %s` writes it", index, strerror(errno),
                view->study);
  if (!s.page) return KN_EXIT_INPUT;
  mg_init_library(0);
  struct mg_context* context = mg_start(&none, NULL, options);
  kn_exit code = KN_EXIT_OK;
  if (!context || mg_get_server_ports(context, 1, at) != 1)
    code =
        kn_complain(args, KN_EXIT_WRITE, "port %d of this machine cannot be listened on; try --port 0", port);
  if (code == KN_EXIT_OK) {
    s.port = at[0].port;
    mg_set_request_handler(context, "**", request, &s);
    kn_interrupt_catch();
    code = tell(&s, args);
    snprintf(url, sizeof url, "http://127.0.0.1:%d/?token=%s", s.port, s.token);
    if (browser) open_browser(url);
    while (code == KN_EXIT_OK && !kn_interrupted()) usleep(100000);
  }
  if (context) mg_stop(context);
  mg_exit_library();
  free(s.page);
  return code;
}

#else
kn_exit kn_view_serve(const kn_view* view, const kn_args* args, int port, bool browser) {
  (void)view, (void)port, (void)browser;
  return kn_complain(
      args, KN_EXIT_INPUT,
      "built without civetweb (Debian: libcivetweb-dev), so nothing is served; --html FILE writes the "
      "page to a file");
}
#endif
