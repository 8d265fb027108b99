/* Where fronts leave their numbers, and how a crew shares them.

   The fronts form trees, children before parents, so that a subtree is a range of fronts. Subtrees with less
   than a share of all work are eliminated by one worker each, with its own stack; neighbours with little work
   make one task. Fronts above them follow one after the other, their panels shared. The tasks depend on the
   problem alone, and every front has the same operations whoever eliminates it: so the bits do not depend on the
   number of threads.

   Numbers are counted with three unknowns per block, which is the most there can be. */
#include <string.h>

#include "comp/heap/sparse.h"

/* A subtree beyond this share of the flops is not one task; tasks below this share are joined with their
   neighbours; problems below so many flops (some 50 us) are not shared. */
static const double split_share = 1.0 / 12, join_share = 1.0 / 64, least_flops = 2e5;

static size_t padded(size_t n) { return (n + 7) / 8 * 8; }

/* Walks the fronts with the sizes of the updates that wait for their parents. */
typedef struct walk {
  size_t* update; /* sizes */
  int* root;      /* their fronts */
  size_t stack, most;
  int depth;
} walk;

static void pass(walk* w, const kn_front* f, int t) {
  size_t pivots = 3 * (size_t)f->pivots, border = 3 * (size_t)f->borders;
  size_t here = (padded(pivots) + padded(border)) * (pivots + border + 1);
  if (w->stack + here > w->most) w->most = w->stack + here;
  for (int c = 0; c < f->children; c++) w->stack -= w->update[--w->depth];
  if (f->borders == 0) return;
  w->root[w->depth] = t;
  w->update[w->depth++] = padded(border) * (border + 1);
  w->stack += padded(border) * (border + 1);
}

static double flops_of(const kn_front* f) {
  double p = 3.0 * f->pivots, b = 3.0 * f->borders;
  return 2.0 * p * ((p + b) * b + p * p / 3.0);
}

/* sum: flops of the subtree of every front; returns those of all. */
static double weigh(double* sum, int* open, const kn_cone_sparse_plan* plan) {
  double all = 0.0;
  int depth = 0;
  for (int t = 0; t < plan->fronts; t++) {
    const kn_front* f = &plan->front[t];
    sum[t] = flops_of(f);
    all += sum[t];
    for (int c = 0; c < f->children; c++) sum[t] += sum[open[--depth]];
    if (f->borders) open[depth++] = t;
  }
  return all;
}

/* Roles by the work of the subtrees: a front within a task is the last of its subtree unless its parent is in
   the task too. */
static void assign(kn_cone_sparse_plan* plan, const double* sum, double all, int* open) {
  int depth = 0;
  for (int t = 0; t < plan->fronts; t++) {
    bool top = sum[t] > split_share * all;
    plan->place[t].role = top ? KN_FRONT_TOP : KN_FRONT_LAST;
    for (int c = 0; c < plan->front[t].children; c++) {
      depth--;
      if (!top) plan->place[open[depth]].role = KN_FRONT_INNER;
    }
    if (plan->front[t].borders) open[depth++] = t;
  }
}

/* Tasks end after the last front of a subtree with enough work, or before a front above. */
static void cut(kn_cone_sparse_plan* plan, double all) {
  double work = 0.0;
  bool ends = true;
  plan->tasks = 0;
  for (int t = 0; t < plan->fronts; t++) {
    int role = plan->place[t].role;
    if (role == KN_FRONT_TOP) {
      if (t == 0) plan->task[plan->tasks++] = 0;
      ends = true;
      continue;
    }
    if (ends) plan->task[plan->tasks++] = t, work = 0.0;
    work += flops_of(&plan->front[t]);
    ends = role == KN_FRONT_LAST && work > join_share * all;
  }
  plan->task[plan->tasks] = plan->fronts;
}

/* Stack of the largest task, places of the updates that it leaves, stack of the fronts above. */
static void measure(kn_cone_sparse_plan* plan, walk* w) {
  size_t updates = 0, task = 0;
  *w = (walk){.update = w->update, .root = w->root};
  for (int t = 0; t < plan->fronts; t++) {
    if (plan->place[t].role == KN_FRONT_TOP) continue;
    pass(w, &plan->front[t], t);
    if (plan->place[t].role != KN_FRONT_LAST) continue;
    if (plan->front[t].borders) plan->place[t].update_at = updates, updates += w->update[0];
    task = w->most > task ? w->most : task;
    w->depth = 0, w->stack = w->most = 0;
  }
  *w = (walk){.update = w->update, .root = w->root};
  for (int t = 0; t < plan->fronts; t++) {
    const kn_front* f = &plan->front[t];
    if (plan->place[t].role == KN_FRONT_INNER) continue;
    if (plan->place[t].role == KN_FRONT_TOP)
      pass(w, f, t);
    else if (f->borders)
      w->root[w->depth] = t, w->update[w->depth++] = 0;
  }
  plan->task_updates = updates, plan->task_stack = task, plan->top_stack = w->most;
}

bool kn_sparse_places(kn_cone_sparse* s) {
  kn_cone_sparse_plan* plan = &s->plan;
  size_t n = (size_t)s->blocks, U = 0;
  walk w = {.update = (size_t*)(void*)plan->scratch, .root = plan->scratch + 2 * n};
  double* sum = (double*)(void*)(plan->scratch + 4 * n);
  for (int t = 0; t < plan->fronts; t++) {
    const kn_front* f = &plan->front[t];
    plan->place[t].U_at = U;
    U += padded(3 * (size_t)f->pivots) * (3 * ((size_t)f->pivots + (size_t)f->borders) + 1);
    pass(&w, f, t);
  }
  plan->tasks = 0;
  if (U > s->U_capacity || w.most + 8 > s->stack_capacity) return false; /* eight: read beyond, and masked */
  double all = s->crew ? weigh(sum, w.root, plan) : 0.0;
  if (all < least_flops) return true;
  assign(plan, sum, all, w.root);
  cut(plan, all);
  measure(plan, &w);
  return true;
}

bool kn_sparse_lay_out(kn_cone_sparse* s) {
  const kn_cone_sparse_plan* plan = &s->plan;
  s->hand[0].stack = s->stack;
  if (!s->crew || plan->tasks < 2) return false;
  size_t hands = (size_t)kn_crew_size(s->crew), each = padded(plan->task_stack) + 8;
  size_t most = hands * each > plan->top_stack ? hands * each : plan->top_stack;
  size_t from = padded(plan->task_updates) + 8;
  if (from + most + 8 > s->stack_capacity) return false;
  for (size_t i = 0; i < hands; i++) s->hand[i].stack = s->stack + from + i * each;
  return true;
}

void kn_sparse_take_hands(kn_sparse_hand* hand, int hands, kn_arena* arena, int blocks) {
  size_t n = (size_t)blocks;
  for (int i = 0; i < hands; i++) {
    kn_sparse_hand h = {0};
    h.offset = KN_TAKE(arena, int, n + 1);
    h.y = KN_TAKE(arena, double, 3 * n + 24);
    h.open = KN_TAKE(arena, int, n + 1);
    h.sizes = KN_TAKE(arena, int, n + 1);
    h.map = KN_TAKE(arena, int, 4 * n + 16);
    h.update = KN_TAKE(arena, double*, n + 1);
    if (hand) hand[i] = h;
  }
}
