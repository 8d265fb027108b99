/* Lulls (stage 2): a robot that stands has some dozens of geoms, of which a few touch something. A whole search sorts the
   pairs of the near list into those that are close and those that are not; as long as nothing can have used up the room
   of the latter, searches place the geoms of the former only.

   With D how far a point of a geom can be from where the whole search found it, from the links' poses then and now, and S
   how far it can go within the horizon, two geoms come closer by 2 (D + S) at most. Pairs that are left out have no contact
   points, whatever made the poses: results are the same bits with and without. Called by detect.c. */
#include "contact/detect/detector.h"

#include <math.h>

#include "base/extreme.h"
#include "spatial/spatial.h"

enum {
  LULL_STEPS = 12, /* at the present speed, that a lull should last */
  LULL_WAIT = 16   /* whole searches after one that was followed by no lull */
};

void kn_lull_take(kn_lull* lull, kn_arena* arena, const kn_model* model, int pairs) {
  lull->then = KN_TAKE(arena, link_then, model->nlink);
  lull->moving = KN_TAKE(arena, moving, model->ngeom);
  lull->has = KN_TAKE(arena, bool, model->ngeom);
  lull->pair = KN_TAKE(arena, int32_t, pairs);
}

void kn_lull_forget(kn_detector* d) {
  d->lull.room = -INFINITY;
  d->lull.wait = 0;
  d->lull.fresh = false;
}

/* Geoms ascend, and links of neighbours are mostly the same: each link once all the same. */
void kn_lull_fill(kn_detector* d) {
  kn_lull* l = &d->lull;
  l->links = 0;
  for (int k = 0; k < d->nmoving; k++) {
    const moving* g = &d->moving[k];
    double reach = kn_norm3((const double*)&g->centre) + g->radius;
    int at = 0;
    while (at < l->links && l->then[at].link != g->link) at++;
    if (at == l->links) l->then[l->links++] = (link_then){.link = g->link};
    l->then[at].reach2 = kn_max(l->then[at].reach2, reach * reach);
  }
  kn_lull_forget(d);
}

double kn_lull_holds(kn_detector* d, double margin) {
  kn_lull* l = &d->lull;
  if (!(l->room > margin)) return -1.0;
  drifted most = KN_BEST(kn_links_since)(l->then, l->links, d->data->kin.link, d->horizon > 0.0);
  double left = l->room - 2.0 * (sqrt(most.way2) + d->horizon * sqrt(most.speed2));
  if (left > margin) {
    l->fresh = false;
    return left;
  }
  if (l->fresh) l->wait = LULL_WAIT;
  return -1.0;
}

/* Speeds are asked for in searches with a horizon; the others go by the last of them. */
void kn_lull_begin(kn_detector* d, double margin) {
  kn_lull* l = &d->lull;
  l->pairs = 0, l->room = -INFINITY, l->least = INFINITY;
  if (l->wait > 0) l->wait--;
  l->reserve = l->wait > 0 ? INFINITY : margin + 2.0 * LULL_STEPS * d->last_sweep + 1e-3;
}

void kn_lull_end(kn_detector* d, double gone) {
  kn_lull* l = &d->lull;
  if (l->reserve == INFINITY) return;
  l->room = kn_min(l->least, d->slack - 2.0 * gone - d->most_margin); /* pairs that are not in the list */
  l->geoms = 0, l->fresh = true;
  for (int g = 0; g < d->model->ngeom; g++) l->has[g] = false;
  for (int k = 0; k < l->pairs; k++) l->has[d->pairs[l->pair[k]].a] = l->has[d->pairs[l->pair[k]].b] = true;
  for (int k = 0; k < d->nmoving; k++)
    if (l->has[d->moving[k].geom]) l->moving[l->geoms++] = d->moving[k];
  for (int k = 0; k < l->links; k++) {
    const kn_link_kin* at = &d->data->kin.link[l->then[k].link];
    l->then[k].o = at->o;
    for (int j = 0; j < 3; j++) l->then[k].R[j] = at->R[j];
  }
}
