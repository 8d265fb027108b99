/* A pool's life: worlds and threads made and freed, states in and out. Steps are in pool_step.c, resets in
   pool_reset.c. Called by users of knuckle/pool.h. */
#include "pool/pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { MOST_WORLDS = 1 << 24 };

static void* take(size_t count, size_t size) {
  void* memory = aligned_alloc(64, count * size); /* sizes are whole lines */
  if (memory) memset(memory, 0, count * size);
  return memory;
}

static kn_status make_worlds(kn_pool* p) {
  for (int i = 0; i < p->worlds; i++) {
    kn_world* w = &p->world[i];
    w->model = p->model;
    KN_TRY(kn_state_create(&w->state, p->model));
    KN_TRY(kn_carry_create(&w->carry, p->model));
    KN_TRY(kn_sim_prepare(p->hand[0].sim, w->state));
  }
  return KN_OK;
}

static kn_status make_hands(kn_pool* p) {
  for (int i = 0; i < p->threads; i++) KN_TRY(kn_sim_create(&p->hand[i].sim, p->model, &p->settings));
  return KN_OK;
}

kn_status kn_hand_turn(kn_hand* h, const kn_pool* p, const kn_model* model) {
  if (h->sim && kn_sim_adopt(h->sim, model)) return KN_OK;
  kn_sim_settings settings = p->settings;
  if (h->sim && !settings.max_contacts) settings.contact_room = h->sim->room.contacts; /* it may have grown */
  kn_sim_destroy(h->sim);
  h->sim = NULL;
  KN_TRY(kn_sim_create(&h->sim, model, &settings));
  return kn_sim_set_controller(h->sim, &p->controller);
}

kn_status kn_pool_set_controller(kn_pool* p, const kn_controller* controller) {
  KN_REQUIRE(p != NULL);
  kn_pool_turn_back(p);
  p->controller = controller ? *controller : (kn_controller){0};
  for (int i = 0; i < p->threads; i++) {
    KN_TRY(kn_hand_turn(&p->hand[i], p, p->model));
    KN_TRY(kn_sim_set_controller(p->hand[i].sim, &p->controller));
  }
  return KN_OK;
}

void kn_pool_turn_back(kn_pool* p) {
  for (int i = 0; i < p->threads; i++) {
    kn_hand* h = &p->hand[i];
    if (!h->sim || kn_sim_adopt(h->sim, p->model)) continue;
    kn_sim_destroy(h->sim);
    h->sim = NULL;
  }
}

static kn_status make(kn_pool* p, int threads) {
  if (p->settings.fast) {
    p->fast = strdup(p->settings.fast);
    p->settings.fast = p->fast;
    if (!p->fast) return kn_fail(KN_OUT_OF_MEMORY, "no memory for a pool");
  }
  KN_TRY(kn_crew_create(&p->crew, threads));
  p->threads = kn_crew_size(p->crew);
  p->hand = take((size_t)p->threads, sizeof *p->hand);
  p->world = take((size_t)p->worlds, sizeof *p->world);
  if (!p->hand || !p->world) return kn_fail(KN_OUT_OF_MEMORY, "no memory for %d worlds", p->worlds);
  KN_TRY(make_hands(p));
  return make_worlds(p);
}

kn_status kn_pool_create(kn_pool** pool, const kn_model* model, const kn_sim_settings* settings, int worlds,
                         int threads) {
  KN_REQUIRE(pool != NULL);
  *pool = NULL;
  KN_REQUIRE(model != NULL);
  if (worlds < 1 || worlds > MOST_WORLDS)
    return kn_fail(KN_BAD_ARGUMENT, "%d worlds: 1 … %d", worlds, MOST_WORLDS);
  kn_pool* p = calloc(1, sizeof *p);
  if (!p) return kn_fail(KN_OUT_OF_MEMORY, "no memory for a pool");
  p->model = model;
  p->settings = settings ? *settings : kn_sim_default();
  p->settings.threads = 1; /* worlds are shared out, not their steps */
  p->worlds = worlds;
  kn_status status = make(p, threads);
  if (status != KN_OK)
    kn_pool_destroy(p);
  else
    *pool = p;
  return status;
}

void kn_pool_destroy(kn_pool* p) {
  if (!p) return;
  kn_crew_destroy(p->crew);
  for (int i = 0; p->hand && i < p->threads; i++) {
    kn_sim_destroy(p->hand[i].sim);
    kn_state_destroy(p->hand[i].state);
    kn_carry_destroy(&p->hand[i].blank);
  }
  for (int i = 0; p->world && i < p->worlds; i++) {
    kn_state_destroy(p->world[i].state);
    kn_carry_destroy(&p->world[i].carry);
    kn_model_destroy(p->world[i].own);
  }
  free(p->hand);
  free(p->world);
  free(p->fast);
  free(p);
}

int kn_pool_worlds(const kn_pool* p) { return p ? p->worlds : 0; }
int kn_pool_threads(const kn_pool* p) { return p ? p->threads : 0; }
int kn_pool_width(const kn_pool* p) { return p ? kn_pool_row(p->model) : 0; }

static bool has(const kn_pool* p, int world) { return p && world >= 0 && world < p->worlds; }

const char* kn_pool_failure(const kn_pool* p, int world) { return has(p, world) ? p->world[world].text : ""; }
kn_state* kn_pool_state(kn_pool* p, int world) { return has(p, world) ? p->world[world].state : NULL; }
const kn_model* kn_pool_model(const kn_pool* p, int world) {
  return has(p, world) ? p->world[world].model : NULL;
}

void kn_world_fail(kn_world* w, kn_status status) {
  w->status = status;
  snprintf(w->text, sizeof w->text, "%s", kn_last_error());
}

void kn_world_write(double* row, const kn_world* w) {
  const kn_model* m = w->model;
  row[0] = w->state->time;
  memcpy(row + 1, w->state->q, (size_t)m->nq * sizeof *row);
  memcpy(row + 1 + m->nq, w->state->v, (size_t)m->nv * sizeof *row);
}

void kn_world_read(kn_world* w, const double* row) {
  const kn_model* m = w->model;
  w->state->time = row[0];
  memcpy(w->state->q, row + 1, (size_t)m->nq * sizeof *row);
  memcpy(w->state->v, row + 1 + m->nq, (size_t)m->nv * sizeof *row);
}

kn_status kn_pool_put(double* state, kn_pool* p, int world, const kn_state* from) {
  KN_REQUIRE(p != NULL && from != NULL);
  KN_REQUIRE(world >= 0 && world < p->worlds);
  kn_world* w = &p->world[world];
  KN_TRY(kn_state_copy(w->state, from));
  kn_carry_clear(&w->carry);
  w->status = KN_OK, w->text[0] = 0;
  if (state) kn_world_write(state + (size_t)world * (size_t)kn_pool_row(p->model), w);
  return KN_OK;
}
