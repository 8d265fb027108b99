/* The list of fast paths, and which of them a simulator takes (parts.h). `knuckle list fast-paths` prints the
   list, build/bench/step --fast what each path buys, test/step/fast.c compares every scene with each path off.
   The gains are in docs/fast-paths.md. */
#include "step/parts.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static const kn_fast_path paths[] = {
    [KN_FAST_PLANAR] = {.name = "planar",
                        .doc =
                            "mechanisms of hinges about parallel axes: dynamics and rows with 3 numbers per "
                            "link instead of 6, long chains eight links at a time",
                        .trigger = "every joint a hinge, all axes of a tree parallel",
                        .replaces = "the tree recursions of dynamics/tree and dynamics/rows",
                        .tolerance = 1e-11},
    [KN_FAST_SIGHT] = {.name = "sight",
                       .doc = "spheres and standing planes of a planar mechanism are searched in its plane",
                       .trigger = "planar, and only spheres on links, up to 64 of them",
                       .replaces = "the pairs and the broad phase of contact/detect",
                       .tolerance = 1e-11},
    [KN_FAST_CLEAR] = {.name = "clear",
                       .doc =
                           "no search for contacts while all pairs are farther apart than anything can move",
                       .trigger = "the last search found nothing, and a bound of the motion",
                       .replaces = "the two searches of a step"},
    [KN_FAST_MODES] = {.name = "modes",
                       .doc =
                           "contacts of a planar motion by their modes (open, stick, slide) in closed form",
                       .trigger = "dense problems whose contacts each have one tangent that moves",
                       .replaces = "the cone solvers of comp/cone",
                       .tolerance = 1e-11},
    [KN_FAST_HEAP] =
        {.name = "heap",
         .doc = "heaps of bodies without joints: rows without a recursion, and an interior point in "
                "the space of the bodies",
         .trigger = "many contacts, each between free bodies or a body and the world",
         .replaces = "kn_rows_push along the trees, the block-sparse cone solvers",
         .tolerance = 1e-6},
    [KN_FAST_COUNT] = {0},
};

const kn_fast_path* kn_fast_paths(void) { return paths; }

/* Takes the names of a list off *on; the length of the first that is unknown, 0: there is none. */
static int take_off(unsigned* on, const char* names, const char** unknown) {
  for (const char* at = names; at && *at;) {
    int n = (int)strcspn(at, ","), path = 0;
    if (n == 4 && memcmp(at, "none", 4) == 0) {
      *on = 0;
    } else if (n) {
      while (path < KN_FAST_COUNT &&
             ((int)strlen(paths[path].name) != n || memcmp(paths[path].name, at, (size_t)n) != 0))
        path++;
      *unknown = at;
      if (path == KN_FAST_COUNT) return n;
      *on &= ~(1u << path);
    }
    at += n + (at[n] == ',');
  }
  return 0;
}

/* Of the environment, read once. */
static struct {
  unsigned on;
  int bad;
  const char* unknown;
} environment;

static void read_environment(void) {
  environment.on = ~0u;
  environment.bad = take_off(&environment.on, getenv("KN_FAST"), &environment.unknown);
}

kn_status kn_fast_choose(unsigned* on, const char* off) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  const char* unknown = NULL;
  pthread_once(&once, read_environment);
  if (environment.bad)
    return kn_fail(KN_NOT_FOUND, "KN_FAST: no fast path \"%.*s\"", environment.bad, environment.unknown);
  *on = environment.on;
  int bad = take_off(on, off, &unknown);
  return bad ? kn_fail(KN_NOT_FOUND, "fast: no fast path \"%.*s\"", bad, unknown) : KN_OK;
}
