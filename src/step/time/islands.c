/* Islands: trees joined by rows that act on two of them. Rows of one island are solved together, islands one
 * by one. */
#include "step/sim.h"

static int find(int* parent, int i) {
  while (parent[i] != i) i = parent[i] = parent[parent[i]];
  return i;
}

static void join(int* parent, const kn_row_tag* tag) {
  if (tag->tree[0] < 0 || tag->tree[1] < 0) return;
  int a = find(parent, tag->tree[0]), b = find(parent, tag->tree[1]);
  if (a < b)
    parent[b] = a; /* the smaller root leads: independent of the order of rows */
  else
    parent[a] = b;
}

static int island_of(const kn_sim* s, const kn_row_tag* tag) {
  int tree = tag->tree[0] >= 0 ? tag->tree[0] : tag->tree[1];
  return tree < 0 ? -1 : find(s->sets.tree_parent, tree);
}

int kn_row_island(const kn_sim* s, const kn_row_tag* tag) { return s->sets.tree_island[island_of(s, tag)]; }

/* Copies a group to the end of the sorted set. */
static void append(kn_constraints* set, const kn_constraints* from, int g) {
  kn_row_tag tag = from->tag[g];
  int row = tag.row, block = tag.block;
  tag.row = set->rows;
  tag.block = set->blocks;
  set->tag[set->count] = tag;
  if (tag.held) set->drift[set->count] = from->drift[g];
  set->geometry[set->count++] = from->geometry[g];
  for (int k = 0; k < tag.rows; k++) {
    set->bias[tag.row + k] = from->bias[row + k];
    set->rate[tag.row + k] = from->rate[row + k];
    set->travel[tag.row + k] = from->travel[row + k];
    set->u_before[tag.row + k] = from->u_before[row + k];
    set->u_free[tag.row + k] = from->u_free[row + k];
  }
  for (int b = 0; b < tag.blocks; b++) {
    set->block[set->blocks] = from->block[block + b];
    set->block[set->blocks++].row += tag.row - row;
  }
  set->rows += tag.rows;
}

/* Rows that all take part need not be copied. Loops are found again later in a step, compliant islands change
   the rows, and other steppers go on reading what they found. */
static bool may_share(const kn_sim* s) {
  return s->model->nloop == 0 && !s->soft && s->stepper->step == kn_time_step;
}

static bool all_act(const kn_constraints* found, const bool* keep) {
  bool all = true;
  for (int g = 0; g < found->count; g++)
    all &= (found->tag[g].tree[0] >= 0 || found->tag[g].tree[1] >= 0) && (!keep || keep[g]);
  return all;
}

/* One tree: all rows that are kept are one island. */
static kn_status one_island(kn_sim* s, const bool* keep) {
  const kn_constraints* found = &s->sets.found;
  bool shared = may_share(s) && all_act(found, keep);
  if (!shared)
    s->sets.set = s->sets.kept;
  else if (s->sets.set.geometry != found->geometry)
    s->sets.set = *found;
  else
    s->sets.set.count = found->count, s->sets.set.rows = found->rows, s->sets.set.blocks = found->blocks;
  for (int g = 0; g < found->count && !shared; g++) {
    bool acts = found->tag[g].tree[0] >= 0 || found->tag[g].tree[1] >= 0;
    s->sets.order[g] = acts && (!keep || keep[g]) ? 0 : -1;
    if (s->sets.order[g] == 0) append(&s->sets.set, found, g);
  }
  s->sets.islands = s->sets.set.count > 0;
  s->sets.island_first[0] = 0, s->sets.island_first[1] = s->sets.set.count;
  s->sets.tree_parent[0] = 0, s->sets.tree_island[0] = s->sets.islands - 1;
  return KN_OK;
}

kn_status kn_row_islands(kn_sim* s, const bool* keep) {
  const kn_constraints* found = &s->sets.found;
  if (s->facts.one_tree) return one_island(s, keep);
  s->sets.set = s->sets.kept;
  s->sets.islands = 0;
  for (int i = 0; i < s->model->nlink; i++) s->sets.tree_parent[i] = i, s->sets.tree_island[i] = -1;
  for (int g = 0; g < found->count; g++)
    if (!keep || keep[g]) join(s->sets.tree_parent, &found->tag[g]);
  /* number islands in the order of their first row, count their groups, then place the groups */
  for (int g = 0; g < found->count; g++) {
    s->sets.order[g] = -1;
    if (keep && !keep[g]) continue;
    int leader = island_of(s, &found->tag[g]);
    if (leader < 0) continue; /* acts on nothing that moves */
    if (s->sets.tree_island[leader] < 0) s->sets.tree_island[leader] = s->sets.islands++;
    s->sets.order[g] = s->sets.tree_island[leader];
  }
  if (s->sets.islands == 1 || s->sets.unsorted) {
    bool shared = may_share(s) && all_act(found, keep);
    if (shared) s->sets.set = *found;
    for (int g = 0; g < found->count && !shared; g++)
      if (s->sets.order[g] >= 0) append(&s->sets.set, found, g);
    s->sets.island_first[0] = 0;
    for (int i = 1; i <= s->sets.islands; i++) s->sets.island_first[i] = s->sets.set.count;
    return KN_OK;
  }
  for (int i = 0; i <= s->sets.islands; i++) s->sets.island_first[i] = 0;
  for (int g = 0; g < found->count; g++)
    if (s->sets.order[g] >= 0) s->sets.island_first[s->sets.order[g] + 1]++;
  for (int i = 0; i < s->sets.islands; i++) s->sets.island_first[i + 1] += s->sets.island_first[i];
  /* stable counting sort: slot[k] = group at sorted position k */
  int* slot = s->sets.slot;
  for (int i = s->sets.islands; i > 0; i--) s->sets.cursor[i] = s->sets.island_first[i - 1];
  for (int g = 0; g < found->count; g++)
    if (s->sets.order[g] >= 0) slot[s->sets.cursor[s->sets.order[g] + 1]++] = g;
  for (int k = 0; k < s->sets.island_first[s->sets.islands]; k++) append(&s->sets.set, found, slot[k]);
  return KN_OK;
}

void kn_islands_of_links(kn_sim* s, int* island) {
  for (int i = 0; i < s->model->nlink; i++) {
    int parent = s->model->link[i].parent;
    island[i] = parent >= 0 ? island[parent] : s->sets.tree_island[find(s->sets.tree_parent, i)];
  }
}
