/* Spheres against spheres and capsules. What decides (gap, feature) is computed for KN_W pairs at a time,
   CHUNK pairs ahead; then each contact is written with one vector of it per register, from the poses once
   more. Operations and their order are those of pair_round.c. */

typedef struct spots { /* the pairs of KN_W lanes: where their poses and sizes are */
  const double *A[KN_W], *B[KN_W], *a0, *b0, *b1;
  vec margin;
} spots;

typedef struct found {
  vec gap;
  ivec key, hit;
  vec extra[2]; /* what writing the contact needs besides */
} found;

typedef struct spot { /* one contact to be written */
  const double *A, *B;
  double a0, gap, key, x[2];
} spot;

/* Returns the lanes that need the pair function. */
typedef ivec (*measure_fn)(found* out, const spots* q);
typedef void (*emit_fn)(kn_pair_contact* out, const spot* s, bool flip);

typedef struct row_chunk {
  double gap[CHUNK], key[CHUNK], extra[2][CHUNK];
  uint32_t hit[BLOCKS], special[BLOCKS];
} row_chunk;

LANES void keep(row_chunk* k, int nth, const found* f, int extras, bool flip) {
  ivec key = flip ? f->key << 32 : f->key; /* A's feature is 0 in all of these */
  *(loose*)(k->gap + nth * KN_W) = f->gap, *(loose*)(k->key + nth * KN_W) = (vec)key;
  UNROLL for (int x = 0; x < extras; x++) * (loose*)(k->extra[x] + nth * KN_W) = f->extra[x];
  k->hit[nth] = bits_of(f->hit);
}

typedef struct source { /* of contacts; copies, because what is written might lie anywhere */
  const double *pose, *a0;
  const int32_t *at_a, *at_b, *index;
} source;

LANES void emit_at(kn_pair_contact* out, int32_t* pair_of, const source* from, const row_chunk* k, int lane,
                   int extras, bool flip, emit_fn emit) {
  spot s = {.A = from->pose + from->at_a[lane], .B = from->pose + from->at_b[lane], .a0 = from->a0[lane]};
  s.gap = k->gap[lane], s.key = k->key[lane];
  UNROLL for (int x = 0; x < extras; x++) s.x[x] = k->extra[x][lane];
  emit(out, &s, flip);
  *pair_of = from->index[lane];
}

/* A chunk with special pairs, keys to forget or little room: pair by pair. */
LANES bool emit_careful(kn_list_run* run, kn_pair_group* g, const source* from, const row_chunk* k, int item,
                        int extras, bool flip, emit_fn emit) {
  for (int lane = 0; lane < CHUNK && item + lane < g->begin + g->count; lane++) {
    bool special = k->special[lane / KN_W] >> (lane % KN_W) & 1;
    if (special || run->capacity == run->count) {
      if (!kn_list_item(run, g, item + lane)) return false;
      continue;
    }
    if (k->hit[lane / KN_W] >> (lane % KN_W) & 1) {
      emit_at(run->out + run->count, run->pair_of + run->count, from, k, lane, extras, flip, emit);
      run->count++;
    }
    if (run->forget) run->list->cache[from->index[lane]].key_count = 0;
  }
  return true;
}

LANES bool walk_rows(kn_list_run* run, kn_pair_group* g, int extras, bool flip, measure_fn measure,
                     emit_fn emit) {
  const kn_pair_list* l = run->list;
  kn_pair_contact* out = run->out;
  int32_t* pair_of = run->pair_of;
  row_chunk k __attribute__((aligned(64)));
  int end = g->begin + g->count;
  for (int start = g->begin; start < end; start += CHUNK) {
    int left = end - start < CHUNK ? end - start : CHUNK, blocks = (left + KN_W - 1) / KN_W;
    const source from = {(const double*)run->pose, l->a0 + start, l->at_a + start, l->at_b + start,
                         l->index + start};
    for (int b = 0; b < blocks; b++) {
      int i = start + b * KN_W;
      spots q = {.a0 = l->a0 + i, .b0 = l->b0 + i, .b1 = l->b1 + i, .margin = load(l->margin + i)};
      UNROLL for (int j = 0; j < KN_W; j++) {
        q.A[j] = from.pose + from.at_a[b * KN_W + j], q.B[j] = from.pose + from.at_b[b * KN_W + j];
      }
      found f;
      k.special[b] = bits_of(measure(&f, &q));
      keep(&k, b, &f, extras, flip);
    }
    uint64_t word[WORDS];
    int total, words = gather_hits(word, &total, k.hit, blocks, 1), n = run->count;
    if (__builtin_expect(any_special(k.special, blocks) || run->forget || run->capacity - n < total, 0)) {
      if (!emit_careful(run, g, &from, &k, start, extras, flip, emit)) return false;
      continue;
    }
    for (int w = 0; w < words; w++)
      for (uint64_t m = word[w]; m; m &= m - 1, n++)
        emit_at(out + n, pair_of + n, &from, &k, 64 * w + __builtin_ctzll(m), extras, flip, emit);
    run->count = n;
  }
  return true;
}

LANES void write_contact(kn_pair_contact* out, const spot* s, row n, row on) {
  *(loose4*)&out->key = ROW_BLEND(n, row_all(s->key), 1);
  *(loose4*)&out->gap = ROW_BLEND(on, row_all(s->gap), 1);
}

/* n: towards the sphere A */
LANES void write_sphere(kn_pair_contact* out, const spot* s, row n, bool flip) {
  row on_a = row_position(s->A) - row_all(s->a0) * n;
  write_contact(out, s, flip ? row_negative(n) : n, flip ? on_a : on_a - row_all(s->gap) * n);
}

LANES ivec in_range(vec square) { return (square > 1e-200) & (square < 1e200); }

LANES ivec sphere_sphere(found* f, const spots* q) {
  row d2[KN_W];
  UNROLL for (int k = 0; k < KN_W; k++) {
    row d = row_position(q->A[k]) - row_position(q->B[k]);
    d2[k] = d * d;
  }
  vec nn = sums_of(d2), d = root(nn), ra = load(q->a0), rb = load(q->b0), reach = ra + rb + q->margin;
  f->gap = d - ra - rb, f->key = (ivec){0}, f->extra[0] = 1 / d;
  f->hit = (nn <= reach * reach) & ~(reach < 0);
  return ~(in_range(nn) & (d < LARGEST));
}
LANES void emit_sphere_sphere(kn_pair_contact* out, const spot* s, bool flip) {
  write_sphere(out, s, (row_position(s->A) - row_position(s->B)) * row_all(s->x[0]), flip);
}

LANES ivec sphere_capsule(found* f, const spots* q) {
  row rows[KN_W];
  UNROLL for (int k = 0; k < KN_W; k++) rows[k] = row_position(q->A[k]) - row_position(q->B[k]);
  vec3 d = vectors_of(rows);
  UNROLL for (int k = 0; k < KN_W; k++) rows[k] = row_column(q->B[k], 2);
  vec3 u = vectors_of(rows);
  vec ra = load(q->a0), rb = load(q->b0), l = load(q->b1), reach = ra + rb + l + q->margin, t = dot3(d, u);
  ivec below = t <= negative(l), above = ~below & (t >= l), within = ~below & ~above;
  t = choose(below, negative(l), choose(above, l, t));
  vec3 n = axpy3(d, negative(t), u);
  vec nn = dot3(n, n), core = root(nn), gap = core - ra - rb;
  f->gap = gap, f->key = (above & 1) | (within & 2), f->extra[0] = t, f->extra[1] = 1 / core;
  f->hit = (dot3(d, d) <= reach * reach) & (gap <= q->margin);
  return ~in_range(nn) | (within & (core < 1e-3 * l)) | ~(core < LARGEST);
}
LANES void emit_sphere_capsule(kn_pair_contact* out, const spot* s, bool flip) {
  row d = row_position(s->A) - row_position(s->B), n = d - row_all(s->x[0]) * row_column(s->B, 2);
  write_sphere(out, s, n * row_all(s->x[1]), flip);
}
