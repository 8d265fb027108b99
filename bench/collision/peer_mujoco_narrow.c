/* MuJoCo: its pair functions called directly (contact), mj_geomDistance (distance). Meshes are single
   precision in MuJoCo, so the bench uses vertices that are exact in float. */
#include <math.h>
#include <mujoco/mujoco.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "peer_narrow.h"

typedef struct text {
  char* s;
  size_t n, room;
} text;

static void add(text* t, const char* format, ...) {
  va_list args;
  if (t->n + 512 > t->room) t->room = 2 * t->room + 4096, t->s = realloc(t->s, t->room);
  va_start(args, format);
  t->n += (size_t)vsnprintf(t->s + t->n, t->room - t->n, format, args);
  va_end(args);
}

typedef struct world {
  mjModel* m;
  mjData* d;
  int n;
  double margin;
  narrow_mode mode;
  int* first; /* geom numbers, in MuJoCo's order of types */
  int* second;
  mjPreContact* contact; /* of all pairs, as ours are kept */
  int count;
} world;

static const char* const type_name[] = {"plane", "sphere", "capsule", "cylinder", "ellipsoid", "box", "mesh"};

static void geom(text* t, const narrow_shape* s, const kn_pose* P, int mesh) {
  const double* R = P->R;
  add(t, "<geom type='%s' pos='%.17g %.17g %.17g' xyaxes='%.17g %.17g %.17g %.17g %.17g %.17g' ",
      type_name[s->type], P->p[0], P->p[1], P->p[2], R[0], R[3], R[6], R[1], R[4], R[7]);
  if (s->type == KN_SHAPE_HULL)
    add(t, "mesh='m%d'/>", mesh);
  else if (s->type == KN_SHAPE_PLANE)
    add(t, "size='10 10 1'/>");
  else
    add(t, "size='%.17g %.17g %.17g'/>", s->size[0], s->size[1], s->size[2]);
}

static int mesh_index(const double** known, int* n, const double* v) {
  for (int i = 0; i < *n; i++)
    if (known[i] == v) return i;
  known[*n] = v;
  return (*n)++;
}

static bool supports(kn_shape_type a, kn_shape_type b, narrow_mode mode) {
  (void)mode;
  return a <= KN_SHAPE_HULL && b <= KN_SHAPE_HULL;
}

static void* create(const narrow_pair* pairs, int n, narrow_mode mode, double margin) {
  const double** known = malloc(sizeof(double*) * 2 * (size_t)n);
  int meshes = 0;
  text x = {0};
  add(&x, "<mujoco><option><flag multiccd='enable'/></option><asset>");
  for (int i = 0; i < 2 * n; i++) {
    const narrow_shape* s = i % 2 ? &pairs[i / 2].b : &pairs[i / 2].a;
    if (s->type != KN_SHAPE_HULL) continue;
    int before = meshes, id = mesh_index(known, &meshes, s->v);
    if (meshes == before) continue;
    add(&x, "<mesh name='m%d' vertex='", id);
    for (int k = 0; k < 3 * s->nv; k++) add(&x, "%.9g ", s->v[k]);
    add(&x, "'/>");
  }
  add(&x, "</asset><worldbody>");
  for (int i = 0; i < n; i++) {
    int ma = pairs[i].a.type == KN_SHAPE_HULL ? mesh_index(known, &meshes, pairs[i].a.v) : 0;
    int mb = pairs[i].b.type == KN_SHAPE_HULL ? mesh_index(known, &meshes, pairs[i].b.v) : 0;
    geom(&x, &pairs[i].a, &pairs[i].A, ma);
    geom(&x, &pairs[i].b, &pairs[i].B, mb);
  }
  add(&x, "</worldbody></mujoco>");
  mjVFS vfs;
  char error[400] = "";
  mj_defaultVFS(&vfs);
  mj_addBufferVFS(&vfs, "pairs.xml", x.s, (int)x.n);
  world* w = calloc(1, sizeof *w);
  w->m = mj_loadXML("pairs.xml", &vfs, error, sizeof error);
  mj_deleteVFS(&vfs);
  free(x.s);
  free(known);
  if (!w->m) {
    fprintf(stderr, "mujoco: %s\n", error);
    free(w);
    return NULL;
  }
  w->d = mj_makeData(w->m);
  mj_kinematics(w->m, w->d);
  w->n = n, w->mode = mode, w->margin = margin;
  w->first = malloc(sizeof(int) * (size_t)n), w->second = malloc(sizeof(int) * (size_t)n);
  w->contact = malloc(sizeof *w->contact * ((size_t)n * 8 + mjMAXCONPAIR));
  for (int i = 0; i < n; i++) {
    bool swap = w->m->geom_type[2 * i] > w->m->geom_type[2 * i + 1];
    w->first[i] = 2 * i + swap, w->second[i] = 2 * i + !swap;
  }
  return w;
}

static double query(void* self, int i) {
  world* w = self;
  int a = w->first[i], b = w->second[i];
  if (w->mode == NARROW_DISTANCE) return mj_geomDistance(w->m, w->d, a, b, 100, NULL);
  if (i == 0 || w->count > 8 * w->n) w->count = 0;
  mjPreContact* c = w->contact + w->count;
  int n = mjCOLLISIONFUNC[w->m->geom_type[a]][w->m->geom_type[b]](w->m, w->d, c, a, b, w->margin);
  double least = INFINITY;
  for (int k = 0; k < n; k++)
    if (c[k].dist < least) least = c[k].dist;
  w->count += n;
  return least;
}

static void destroy(void* self) {
  world* w = self;
  mj_deleteData(w->d);
  mj_deleteModel(w->m);
  free(w->contact);
  free(w->first);
  free(w->second);
  free(w);
}

KN_PEER_EXPORT const narrow_peer kn_peer = {"mujoco", supports, create, query, destroy};
