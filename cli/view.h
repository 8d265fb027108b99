/* What `knuckle view` hands to the page: words of a command line, files, hashes to be reproduced. */
#ifndef KN_CLI_VIEW_H
#define KN_CLI_VIEW_H

#include "subject.h"

typedef struct kn_view_file {
  char* path; /* in the page */
  void* bytes;
  size_t size;
} kn_view_file;

typedef struct kn_view_check { /* the state after this many steps */
  long step;
  uint64_t hash;
} kn_view_check;

enum { KN_VIEW_WORDS = 128 };

typedef struct kn_view {
  char* word[KN_VIEW_WORDS];
  int words;
  kn_view_file* file;
  int files, room;
  kn_view_check* check;
  int checks;
  double duration;           /* s; NAN: the page's own choice */
  double end;                /* s: when the run ends */
  double shot;               /* s: only a picture of this instant; NAN: the whole page */
  int frames;                /* of a film that begins there; 0: one picture */
  double rate, speed;        /* frames in a second of the film; seconds of the run in one of the film */
  char *path, *packages;     /* of a model file: where it is, and --packages; NULL: neither */
  const char *study, *sweep; /* a page of a sweep: its study and its folder; NULL: a run */
  bool native;               /* simulated here and streamed to the page */
  bool recorded;             /* the steps themselves are in it, not the way to make them */
  long steps, kept;          /* of the run; of those, recorded inside */
  uint64_t hash;             /* of the last state, where it was simulated here */
} kn_view;

/* view_recipe.c: what args' operand needs. */
kn_exit kn_view_prepare(kn_view* view, kn_args* args);
void kn_view_free(kn_view* view);

/* view_page.c: the page as one text (free it). With `served`, files are fetched from data/N?token=… of the server;
   otherwise they are inside. NULL: said why. */
char* kn_view_page(size_t* size, const kn_view* view, const kn_args* args, const char* token);

/* view.c: the page with everything inside into a file. */
kn_exit kn_view_write(const kn_view* view, const kn_args* args, const char* path, size_t* size);

/* view_shoot.c: a picture (.png) or a film (.mp4, .webm); the check, before anything is simulated, of names, size and
   programs. */
kn_exit kn_view_shoot_check(const kn_args* args);
kn_exit kn_view_shoot(kn_view* view, const kn_args* args, const char* path);

/* view_native.c: the run that the page asks for (changed there), sent part by part. `begin` is called once it is open;
   false: refused, or it could not be opened, and begin was not called. */
typedef bool kn_view_send(void* to, const void* bytes, size_t size);
bool kn_view_native(const kn_view* view, char* asked, bool (*begin)(void*), kn_view_send* send, void* to);

/* view_server.c: serves the page on loopback until Ctrl-C. */
kn_exit kn_view_serve(const kn_view* view, const kn_args* args, int port, bool browser);

#endif
