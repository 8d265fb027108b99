/* Which geoms may touch, and how two surfaces behave together: μ, e and condim of a pair by the rules of
   knuckle/types.h. The search for contacts (stage 2) gives them to each contact. */
#include "model/model.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "model/compile/compile.h"

static double series(double a, double b) { return a + b > 0.0 ? a * b / (a + b) : 0.0; }

/* "0 = same as normal" made explicit. */
static kn_material resolved(const kn_material* m) {
  kn_material r = *m;
  if (r.Kt == 0.0) r.Kt = r.K;
  if (r.Ct == 0.0) r.Ct = r.C;
  return r;
}

void kn_material_combine(kn_material* out, const kn_material* a, const kn_material* b) {
  kn_material x = resolved(a), y = resolved(b), m = {0};
  bool soft_x = x.law == KN_CONTACT_COMPLIANT, soft_y = y.law == KN_CONTACT_COMPLIANT;
  const kn_material* first = x.priority >= y.priority ? &x : &y;
  m = *first;
  if (x.priority == y.priority) {
    m.mu = fmax(x.mu, y.mu);
    m.torsion = fmax(x.torsion, y.torsion);
    m.roll = fmax(x.roll, y.roll);
  }
  m.mu2 = 0.0; /* of explicit pairs only: a surface of its own has no tangents */
  m.e = fmax(x.e, y.e);
  m.law = soft_x || soft_y ? KN_CONTACT_COMPLIANT : KN_CONTACT_RIGID;
  const kn_material* soft = soft_x ? &x : &y;
  m.K = soft_x && soft_y ? series(x.K, y.K) : soft->K;
  m.C = soft_x && soft_y ? series(x.C, y.C) : soft->C;
  m.Kt = soft_x && soft_y ? series(x.Kt, y.Kt) : soft->Kt;
  m.Ct = soft_x && soft_y ? series(x.Ct, y.Ct) : soft->Ct;
  if (m.law == KN_CONTACT_RIGID) m.K = m.C = m.Kt = m.Ct = 0.0;
  *out = m;
}

/* ---- keys ---- */

static uint64_t key_of(int a, int b) { /* -1, the world, counts as 0 */
  uint64_t x = (uint64_t)(a + 1), y = (uint64_t)(b + 1);
  return x < y ? x << 32 | y : y << 32 | x;
}

typedef struct keyed {
  uint64_t key;
  int index;
} keyed;

static int by_key(const void* a, const void* b) {
  const keyed *x = a, *y = b;
  if (x->key != y->key) return x->key < y->key ? -1 : 1;
  return (x->index > y->index) - (x->index < y->index);
}

kn_status kn_compile_pairs(kn_model* m) {
  int most = m->rules.npair > m->rules.nexclusion ? m->rules.npair : m->rules.nexclusion;
  keyed* list = malloc(((size_t)most + 1) * sizeof *list);
  if (!list) return kn_fail(KN_OUT_OF_MEMORY, "no memory to sort %d pairs", most);
  for (int i = 0; i < m->rules.npair; i++)
    list[i] = (keyed){key_of(m->rules.pair[i].a, m->rules.pair[i].b), i};
  qsort(list, (size_t)m->rules.npair, sizeof *list, by_key);
  for (int i = 0; i < m->rules.npair; i++)
    m->rules.pair_key[i] = list[i].key, m->rules.pair_order[i] = list[i].index;
  for (int i = 0; i < m->rules.nexclusion; i++)
    list[i] = (keyed){key_of(m->rules.exclusion[i][0], m->rules.exclusion[i][1]), i};
  qsort(list, (size_t)m->rules.nexclusion, sizeof *list, by_key);
  for (int i = 0; i < m->rules.nexclusion; i++) m->rules.exclusion_key[i] = list[i].key;
  free(list);
  return KN_OK;
}

static int find_key(const uint64_t* keys, int n, uint64_t key) { /* first of equal ones, or -1 */
  int lo = 0, hi = n;
  while (lo < hi) {
    int mid = (lo + hi) / 2;
    if (keys[mid] < key)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo < n && keys[lo] == key ? lo : -1;
}

/* Index of the explicit pair of two geoms, -1 if there is none. */
static int pair_of(const kn_model* m, kn_geom a, kn_geom b) {
  int k = find_key(m->rules.pair_key, m->rules.npair, key_of(a, b));
  return k < 0 ? -1 : m->rules.pair_order[k];
}

/* ---- pairs ---- */

void kn_material_pair(kn_material* out, const kn_model* m, kn_geom a, kn_geom b) {
  int p = pair_of(m, a, b);
  if (p >= 0)
    *out = resolved(&m->rules.pair[p].material);
  else
    kn_material_combine(out, &m->geom[a].material, &m->geom[b].material);
}

static bool spins(const kn_material* k, int condim) {
  return condim > 1 && k->mu > 0.0 && isfinite(k->mu) &&
         ((condim >= 4 && k->torsion > 0.0) || (condim >= 6 && k->roll > 0.0));
}

bool kn_friction_rich(const kn_material* k, int condim) {
  bool two = condim > 1 && k->mu > 0.0 && isfinite(k->mu) && k->mu2 > 0.0 && k->mu2 != k->mu;
  return two || spins(k, condim);
}

static kn_geom first(const kn_model* m, bool (*has)(const kn_material* k, int condim)) {
  for (int i = 0; i < m->ngeom; i++) /* of two surfaces one may give torsion, the other condim */
    if (has(&m->geom[i].material, 6)) return i;
  for (int i = 0; i < m->rules.npair; i++)
    if (has(&m->rules.pair[i].material, m->rules.pair[i].condim)) return m->rules.pair[i].a;
  return -1;
}

kn_geom kn_model_rich(const kn_model* m) { return first(m, kn_friction_rich); }
kn_geom kn_model_spins(const kn_model* m) { return first(m, spins); }

int kn_condim_pair(const kn_model* m, kn_geom a, kn_geom b) {
  int p = pair_of(m, a, b);
  if (p >= 0) return m->rules.pair[p].condim;
  const kn_geom_def *x = &m->geom[a], *y = &m->geom[b];
  if (x->material.priority != y->material.priority)
    return x->material.priority > y->material.priority ? x->condim : y->condim;
  return x->condim > y->condim ? x->condim : y->condim;
}

double kn_margin_pair(const kn_model* m, kn_geom a, kn_geom b) {
  int p = pair_of(m, a, b);
  return p >= 0 ? m->rules.pair[p].margin : fmax(m->geom[a].margin, m->geom[b].margin);
}

/* The link that carries the body whose joints begin above this link; -1 when that is the world. */
static int carrier(const kn_model* m, int link) {
  kn_body parent = m->body[m->joint[m->link[link].joint].body].parent;
  return parent == KN_WORLD ? -1 : m->place[parent].link;
}

static bool parent_and_child(const kn_model* m, int a, int b) {
  return (a >= 0 && b >= 0) && (carrier(m, a) == b || carrier(m, b) == a);
}

bool kn_model_collides(const kn_model* m, kn_geom a, kn_geom b) {
  if (!m || a < 0 || b < 0 || a >= m->ngeom || b >= m->ngeom || a == b) return false;
  const kn_geom_place *x = &m->geom_place[a], *y = &m->geom_place[b];
  if (x->link == y->link) return false;
  if (m->rules.npair && pair_of(m, a, b) >= 0) return true;
  const kn_geom_def *g = &m->geom[a], *h = &m->geom[b];
  if (!((g->contype & h->conaffinity) || (h->contype & g->conaffinity))) return false;
  if (parent_and_child(m, x->link, y->link)) return false;
  return !m->rules.nexclusion ||
         find_key(m->rules.exclusion_key, m->rules.nexclusion, key_of(x->body, y->body)) < 0;
}
