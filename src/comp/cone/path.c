/* A parametric active set: the answer of a problem near the present one is followed to the present one (the idea
   of qpOASES, Ferreau, Bock, Diehl 2008; Lemke's method with a good start).

   Let r_g be the guess and û = W r_g + q. Take u⁰, the velocities nearest to û that the modes of r_g allow:

     low     max(û, 0)                    open    (max(û_N, 0), û_T)
     high    min(û, 0)                    slip    (0, -max(0, -d.û_T) d)
     inside, stick   0

   Then r_g answers (W, q⁰), q⁰ = u⁰ - W r_g, exactly, and q(t) = q⁰ + t Δ with Δ = û - u⁰ leads to q. While the
   modes stay, the answer is a line in t. Unknowns x: all of a sticking contact, one of a line inside its bounds,
   and (dr_N, s) of a slipping one, dr_T = mu d dr_N + s t with t across d (as many s as ways across):

     A dx/dt = -R Δ,   dr/dt = C dx/dt,   du/dt = (W + ε D) dr/dt + Δ

   with the rows u = 0 (stick, inside), u_N = 0 and t.du_T + a/(mu r_N) s = 0 (slip; a = -d.u_T the slip speed, and
   the second term the turning of d). W + ε D, D = diag W, takes the place of W: dependent rows are ordinary then, and the
   path is unique. A contact of a rigid sole that slips while others stick moves by ε D dr only: the sign of its slip speed
   is that of the path's own u, not of W r + q.

   An event ends the line: a line meets a bound or leaves it (u = 0), an open contact closes (u_N = 0), a sticking one
   reaches the edge of its cone, a slipping one opens (r_N = 0) or comes to rest (a = 0). That one block changes its
   mode. The sign of dt is then the one with which the block that changed goes on: where A is not a P-matrix the path
   turns back in t and goes on; without this most failures are cycles.

   Cost: a factor of the loaded rows, unless the warm start or the path before left one, and for each event an update of it
   (warm_modes_border.c) in which the directions of the other slipping contacts stay while they turn by less than 0.2 rad; a
   new factor when 32 unknowns have changed. A path on which one block changes again and again runs in a circle and is given up. */
#include "comp/cone/warm_modes.h"

#include <string.h>

#include "base/extreme.h"

typedef struct walk {
  kn_path* w;
  kn_warm_system* s;
  const kn_warm_ops* ops;
  const kn_problem* p;
  double t; /* 0 … 1 */
  double eps;
  int event;              /* block that changed last, -1: none yet */
  kn_path_mode was;       /* its mode before */
  double d[KN_WARM_WAYS]; /* its direction before */
} walk;

static const double turned_far = 0.98; /* cosine: 0.2 rad */

static inline bool is_cone(const kn_block* b) { return kn_set_rows(b->set) > 1 && b->mu > 0.0; }

static double lower(const kn_block* b) {
  return b->set == KN_SET_FREE ? -INFINITY : b->set == KN_SET_BOX ? b->lo : 0.0;
}

static double upper(const kn_block* b) { return b->set == KN_SET_BOX ? b->hi : INFINITY; }

/* ---- the start ---- */

static void mode_of_line(walk* k, int block) {
  const kn_block* b = &k->p->block[block];
  double* r = k->w->r + b->row;
  for (int i = 1; i < kn_set_rows(b->set); i++) r[i] = 0.0; /* a contact without friction */
  if (*r <= lower(b))
    *r = lower(b), k->w->mode[block] = KN_PATH_LOW;
  else if (*r >= upper(b))
    *r = upper(b), k->w->mode[block] = KN_PATH_HIGH;
  else
    k->w->mode[block] = KN_PATH_INSIDE;
}

static void mode_of_cone(walk* k, int block) {
  const kn_block* b = &k->p->block[block];
  int rows = k->w->rows[block];
  double *r = k->w->r + b->row, *d = k->w->d[block];
  double length = sqrt(kn_warm_along(r + 1, r + 1, rows));
  if (!(r[0] > 0.0)) {
    for (int i = 0; i < rows; i++) r[i] = 0.0;
    k->w->mode[block] = KN_PATH_OPEN;
  } else if (length >= b->mu * r[0] * (1.0 - 1e-9)) {
    d[1] = 0.0;
    for (int i = 1; i < rows; i++) d[i - 1] = r[i] / length, r[i] = b->mu * r[0] * d[i - 1];
    k->w->mode[block] = KN_PATH_SLIP;
  } else {
    k->w->mode[block] = KN_PATH_STICK;
  }
}

/* Between 1 and 2, from the row's number: rows that are moved alike would meet their events together. */
static double scatter(int row) {
  uint32_t x = (uint32_t)row * 2654435761u + 12345u;
  x ^= x >> 15;
  return 1.0 + (double)(x & 0xffff) / 65536.0;
}

/* u⁰ of one block; û is in u. */
static void nearest(walk* k, int block, double push) {
  const kn_block* b = &k->p->block[block];
  double *u = k->w->u + b->row, *d = k->w->d[block], away = push * scatter(b->row);
  int rows = k->w->rows[block];
  switch (k->w->mode[block]) {
  case KN_PATH_LOW: u[0] = kn_max(u[0], 0.0) + away; break;
  case KN_PATH_HIGH: u[0] = kn_min(u[0], 0.0) - away; break;
  case KN_PATH_OPEN: u[0] = kn_max(u[0], 0.0) + away; break;
  case KN_PATH_SLIP: {
    double a = kn_max(0.0, -kn_warm_along(d, u + 1, rows)) + away;
    u[0] = 0.0;
    for (int i = 1; i < rows; i++) u[i] = -a * d[i - 1];
    break;
  }
  default:
    for (int i = 0; i < rows; i++) u[i] = 0.0;
  }
}

static void start(walk* k, const double* r, double push) {
  const kn_problem* p = k->p;
  double most = 0.0;
  memcpy(k->w->r, r, (size_t)p->rows * sizeof *r);
  for (int b = 0; b < p->blocks; b++) {
    k->w->rows[b] = is_cone(&p->block[b]) ? kn_set_rows(p->block[b].set) : 1;
    k->w->rows[b] > 1 ? mode_of_cone(k, b) : mode_of_line(k, b);
  }
  k->ops->velocities(k->w->u, k->s, k->w->r, p->q);
  memcpy(k->w->delta, k->w->u, (size_t)p->rows * sizeof(double));
  for (int i = 0; i < p->rows; i++) most = kn_max(most, fabs(k->w->u[i]));
  for (int b = 0; b < p->blocks; b++) nearest(k, b, push * most);
  for (int i = 0; i < p->rows; i++) k->w->delta[i] -= k->w->u[i];
  memset(k->w->changes, 0, (size_t)p->blocks * sizeof *k->w->changes);
  k->t = 0.0, k->event = -1;
}

/* ---- the line ---- */

static double slip_speed(const walk* k, int block) {
  const double *u = k->w->u + k->p->block[block].row, *d = k->w->d[block];
  return -kn_warm_along(d, u + 1, k->w->rows[block]);
}

static void make_slip(const walk* k, kn_warm_block* w) {
  const kn_block* b = &k->p->block[w->block];
  const double *d = k->w->d[w->block], *r = k->w->r + b->row;
  size_t n = (size_t)k->p->rows, at = (size_t)(b->row + 1) * (n + 1);
  double a = kn_max(0.0, slip_speed(k, w->block)),
         most = 1e4 * k->p->W[at]; /* more is not told from no turning */
  w->slip = true, w->mu = b->mu;
  memcpy(w->d, d, sizeof w->d);
  kn_warm_turn_across(w);
  w->a = a < most * b->mu * r[0] ? a / (b->mu * r[0]) : a > 0.0 ? most : 0.0;
}

/* The block in its mode; no unknowns: it has no load. */
static kn_warm_block made(const walk* k, int block) {
  int rows = k->w->rows[block];
  kn_warm_block w = {.block = block, .row = k->p->block[block].row};
  switch (k->w->mode[block]) {
  case KN_PATH_INSIDE: w.rows = w.unknowns = 1; break;
  case KN_PATH_STICK: w.rows = w.unknowns = rows; break;
  case KN_PATH_SLIP:
    w.rows = rows, w.unknowns = rows - 1;
    make_slip(k, &w);
    break;
  default: break;
  }
  return w;
}

/* Blocks with load, their matrix and its factor. */
static bool factor(walk* k) {
  kn_warm_system* s = k->s;
  s->blocks = s->rows = s->m = 0;
  for (int b = 0; b < k->p->blocks; b++) {
    kn_warm_block* w = &s->block[s->blocks];
    *w = made(k, b);
    if (k->event >= 0) kn_warm_stay(s, w, turned_far);
    w->own = s->rows, w->at = s->m;
    s->rows += w->rows, s->m += w->unknowns;
    s->blocks += w->unknowns > 0;
  }
  s->ld = ((s->rows + 7) & ~7) + 8;
  k->ops->compress(s);
  k->ops->matrix(s);
  return kn_warm_factor(s, k->ops, k->eps);
}

/* The factor at hand follows the modes of all blocks. */
static bool follows(walk* k) {
  if (!k->s->has_factor || k->s->term != k->eps) return false;
  for (int b = 0; b < k->p->blocks; b++) {
    kn_warm_block w = made(k, b);
    if (!kn_warm_take(k->s, k->ops, &w, turned_far)) return false;
  }
  return kn_warm_taken(k->s);
}

/* Right-hand side of one block. */
static void demand(double* x, const kn_warm_block* w, const double* delta) {
  x[0] = -delta[w->row];
  for (int i = 1; i < w->unknowns; i++)
    x[i] = -(w->slip ? kn_warm_across(w, i, delta + w->row + 1) : delta[w->row + i]);
}

static void direction(double* dr, const kn_warm_block* w, const double* x) {
  dr[0] = x[0];
  for (int i = 1; i < w->rows; i++) dr[i] = w->slip ? w->mu * w->d[i - 1] * x[0] : x[i];
  if (w->slip) kn_warm_add_across(w, x, dr + 1);
}

/* du, zero where a block sticks or is inside its bounds. */
static void moved(walk* k) {
  int row[KN_WARM_ROWS + 3], rows = 0;
  memset(k->w->du, 0, (size_t)k->p->rows * sizeof(double));
  for (int b = 0; b < k->p->blocks; b++) {
    if (k->w->mode[b] == KN_PATH_INSIDE || k->w->mode[b] == KN_PATH_STICK) continue;
    for (int i = 0; i < k->w->rows[b]; i++) row[rows++] = k->p->block[b].row + i;
  }
  k->ops->velocities_of(k->w->du, k->s, k->w->dr, k->w->delta, row, rows);
  for (int i = 0; i < rows; i++) k->w->du[row[i]] += k->eps * k->s->D[row[i]] * k->w->dr[row[i]];
}

/* dr and du of dt = 1. */
static void tangent(walk* k) {
  kn_warm_system* s = k->s;
  for (int b = 0; b < k->p->blocks; b++) {
    const kn_warm_block* w = kn_warm_held(s, b);
    if (w) demand(s->x + w->at, w, k->w->delta);
  }
  kn_warm_solve(s, k->ops);
  memset(k->w->dr, 0, (size_t)k->p->rows * sizeof(double));
  for (int b = 0; b < k->p->blocks; b++) {
    const kn_warm_block* w = kn_warm_held(s, b);
    if (w) direction(k->w->dr + w->row, w, s->x + w->at);
  }
  moved(k);
}

/* ---- events ---- */

/* Way until a value that must stay positive and changes at this rate is zero. */
static inline double way(double value, double rate) {
  return rate < 0.0 ? kn_max(value, 0.0) / -rate : INFINITY;
}

/* Way until |r_T + h dr_T| = mu (r_N + h dr_N). */
static double way_to_edge(const double* r, const double* dr, double mu, double sign, int rows) {
  double n = sign * dr[0], a = mu * mu * n * n - kn_warm_along(dr + 1, dr + 1, rows);
  double b = mu * mu * r[0] * n - sign * kn_warm_along(r + 1, dr + 1, rows);
  double c = kn_max(0.0, mu * mu * r[0] * r[0] - kn_warm_along(r + 1, r + 1, rows));
  double root = b * b - a * c;
  if (b >= 0.0) { /* rises first: only a falling parabola comes back */
    if (!(a < 0.0) || !(root >= 0.0)) return INFINITY;
    return -(b + sqrt(root)) / a;
  }
  return root >= 0.0 ? c / (-b + sqrt(root)) : INFINITY;
}

static double slip_rate(const walk* k, int block) {
  const double *du = k->w->du + k->p->block[block].row, *d = k->w->d[block];
  return -kn_warm_along(d, du + 1, k->w->rows[block]);
}

/* Way of one block until its mode ends, and the mode that follows. */
static double next_of(const walk* k, int block, double sign, kn_path_mode* then) {
  const kn_block* b = &k->p->block[block];
  const double *r = k->w->r + b->row, *u = k->w->u + b->row;
  double dr = sign * k->w->dr[b->row], du = sign * k->w->du[b->row];
  switch (k->w->mode[block]) {
  case KN_PATH_LOW: *then = KN_PATH_INSIDE; return way(u[0], du);
  case KN_PATH_HIGH: *then = KN_PATH_INSIDE; return way(-u[0], -du);
  case KN_PATH_INSIDE: {
    double down = way(r[0] - lower(b), dr), up = way(upper(b) - r[0], -dr);
    *then = down < up ? KN_PATH_LOW : KN_PATH_HIGH;
    return kn_min(down, up);
  }
  case KN_PATH_OPEN: {
    double slides = kn_warm_along(u + 1, u + 1, k->w->rows[block]);
    *then = slides > 0.0 ? KN_PATH_SLIP : KN_PATH_STICK;
    return way(u[0], du);
  }
  case KN_PATH_STICK:
    *then = KN_PATH_SLIP;
    return way_to_edge(r, k->w->dr + b->row, b->mu, sign, k->w->rows[block]);
  default: {
    double opens = way(r[0], dr), rests = way(slip_speed(k, block), sign * slip_rate(k, block));
    *then = opens < rests ? KN_PATH_OPEN : KN_PATH_STICK;
    return kn_min(opens, rests);
  }
  }
}

/* How fast the block that changed goes on in its new mode, dt = 1. */
static double growth(const walk* k) {
  int block = k->event;
  const kn_block* b = &k->p->block[block];
  const double *dr = k->w->dr + b->row, *du = k->w->du + b->row;
  switch (k->w->mode[block]) {
  case KN_PATH_LOW: return du[0];
  case KN_PATH_HIGH: return -du[0];
  case KN_PATH_INSIDE: return k->was == KN_PATH_LOW ? dr[0] : -dr[0];
  case KN_PATH_OPEN: return du[0];
  case KN_PATH_SLIP: return k->was == KN_PATH_STICK ? slip_rate(k, block) : dr[0];
  default:
    if (k->was == KN_PATH_OPEN) return dr[0];
    return b->mu * dr[0] - kn_warm_along(k->d, dr + 1, k->w->rows[block]);
  }
}

/* Along the line by h dt; slipping contacts stay on their cones and turn. */
static void advance(walk* k, double h) {
  const kn_problem* p = k->p;
  for (int i = 0; i < p->rows; i++) k->w->r[i] += h * k->w->dr[i], k->w->u[i] += h * k->w->du[i];
  for (int b = 0; b < p->blocks; b++) {
    int row = p->block[b].row, rows = k->w->rows[b];
    double *r = k->w->r + row, *u = k->w->u + row, *d = k->w->d[b];
    if (k->w->mode[b] == KN_PATH_INSIDE) u[0] = 0.0;
    if (k->w->mode[b] == KN_PATH_STICK) memset(u, 0, (size_t)rows * sizeof *u);
    if (k->w->mode[b] != KN_PATH_SLIP) continue;
    double a = kn_max(0.0, slip_speed(k, b)), mu = p->block[b].mu;
    double length = rows > 2 ? sqrt(kn_warm_along(r + 1, r + 1, rows)) : 0.0;
    u[0] = 0.0;
    for (int i = 1; i < rows; i++) {
      if (length > 0.0) d[i - 1] = r[i] / length;
      r[i] = mu * r[0] * d[i - 1], u[i] = -a * d[i - 1];
    }
  }
  k->t += h;
}

/* The block takes its next mode. */
static void change(walk* k, int block, kn_path_mode then) {
  const kn_block* b = &k->p->block[block];
  int rows = k->w->rows[block];
  double *r = k->w->r + b->row, *u = k->w->u + b->row, *d = k->w->d[block];
  k->was = k->w->mode[block], k->event = block;
  memcpy(k->d, d, sizeof k->d);
  k->w->mode[block] = then;
  if (then == KN_PATH_LOW) r[0] = lower(b);
  if (then == KN_PATH_HIGH) r[0] = upper(b);
  if (then == KN_PATH_INSIDE || k->was == KN_PATH_OPEN) u[0] = 0.0;
  if (then == KN_PATH_OPEN)
    for (int i = 0; i < rows; i++) r[i] = 0.0;
  if (then == KN_PATH_STICK)
    for (int i = 0; i < rows; i++) u[i] = 0.0;
  if (then != KN_PATH_SLIP) return;
  const double* from = k->was == KN_PATH_OPEN ? u : r;
  double length = sqrt(kn_warm_along(from + 1, from + 1, rows));
  double inv = length > 0.0 ? (k->was == KN_PATH_OPEN ? -1.0 : 1.0) / length : 0.0;
  d[1] = 0.0;
  for (int i = 1; i < rows; i++) d[i - 1] = from[i] * inv, r[i] = b->mu * r[0] * d[i - 1];
}

/* The factor after an event: of the block that changed, and of those that turned. */
static bool updated(walk* k, int block) {
  for (int b = 0; b < k->p->blocks; b++) {
    if (b != block && k->w->mode[b] != KN_PATH_SLIP) continue;
    kn_warm_block w = made(k, b);
    if (!kn_warm_take(k->s, k->ops, &w, turned_far)) return false;
  }
  return kn_warm_taken(k->s);
}

bool kn_path_follow(double* r, kn_path* path, kn_warm_system* s, const kn_warm_ops* ops, const kn_problem* p,
                    double push, double eps, bool turns, int most, int* events) {
  walk k = {.w = path, .s = s, .ops = ops, .p = p, .eps = eps};
  start(&k, r, push);
  bool valid = follows(&k);
  for (*events = 0; *events < most; ++*events) {
    if (!valid && !factor(&k)) return false;
    tangent(&k);
    double sign = k.event >= 0 && growth(&k) < 0.0 ? -1.0 : 1.0, least = sign > 0.0 ? 1.0 - k.t : k.t;
    if (sign < 0.0 && !turns) return false;
    int block = -1;
    kn_path_mode then = KN_PATH_LOW, candidate = KN_PATH_LOW;
    for (int b = 0; b < p->blocks; b++) {
      double h = next_of(&k, b, sign, &candidate);
      if (h < least) least = h, block = b, then = candidate;
    }
    if (!isfinite(least)) return false;
    advance(&k, sign * least);
    if (block < 0) {
      memcpy(r, path->r, (size_t)p->rows * sizeof *r);
      return sign > 0.0;
    }
    if (++path->changes[block] > KN_PATH_OFTEN) return false;
    change(&k, block, then);
    valid = updated(&k, block);
  }
  return false;
}
