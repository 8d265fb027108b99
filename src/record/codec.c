/* Doubles as differences from a prediction (frame.h): q and v extrapolated from the last steps, quaternions by
   the last turn; the differences of the bits as ordered integers are short. */
#include "record/frame.h"

#include <math.h>

#include "base/error.h"

kn_status kn_codec_create(kn_codec* c, const kn_model* model) {
  size_t nq = (size_t)model->nq, nv = (size_t)model->nv;
  *c = (kn_codec){.model = model};
  c->q1 = calloc(2 * nq + 3 * nv + 1, sizeof(double));
  if (!c->q1) return kn_fail(KN_OUT_OF_MEMORY, "no memory for %d coordinates", model->nq);
  c->q0 = c->q1 + nq;
  c->v1 = c->q0 + nq;
  c->v2 = c->v1 + nv;
  c->v0 = c->v2 + nv;
  return KN_OK;
}

void kn_codec_destroy(kn_codec* c) {
  free(c->q1);
  *c = (kn_codec){0};
}

void kn_codec_reset(kn_codec* c) { c->history = 0; }

static uint64_t bits_of(double x) {
  uint64_t i;
  memcpy(&i, &x, 8);
  return i;
}

static const uint64_t SIGN = (uint64_t)1 << 63;

/* Magnitudes are subtracted, zig-zag; the lowest bit says whether the sign differs. Values that are nothing
   but rounding noise change sign at random and should not pay for it. The largest difference still fits:
   magnitudes have 63 bits. */
static uint64_t difference(double x, double guess) {
  uint64_t a = bits_of(x), b = bits_of(guess);
  int64_t d = (int64_t)(a & ~SIGN) - (int64_t)(b & ~SIGN);
  uint64_t z = ((uint64_t)d << 1) ^ (uint64_t)(d >> 63);
  return z; /* at most 64 bits; the sign travels separately */
}

static double undo(uint64_t z, bool flip, double guess) {
  uint64_t b = bits_of(guess), d = (z >> 1) ^ (0 - (z & 1));
  uint64_t bits = (((b & ~SIGN) + d) & ~SIGN) | ((b ^ (flip ? SIGN : 0)) & SIGN);
  double x;
  memcpy(&x, &bits, 8);
  return x;
}

/* Lengths and signs first: half a byte for the length (0 … 8 bytes), then a bit per sign. */
void kn_values_put(kn_bytes* out, const double* x, const double* guess, int n) {
  if (!kn_bytes_room(out, (size_t)(10 * n + 24))) return;
  size_t lengths = (size_t)(n + 1) / 2, signs = (size_t)(n + 7) / 8;
  uint8_t *count = out->at + out->n, *sign = count + lengths, *p = sign + signs;
  memset(count, 0, lengths + signs);
  for (int i = 0; i < n; i++) {
    double g = guess ? guess[i] : 0.0;
    uint64_t z = difference(x[i], g);
    int bytes = z ? 8 - __builtin_clzll(z) / 8 : 0;
    count[i / 2] |= (uint8_t)(bytes << (4 * (i % 2)));
    if ((bits_of(x[i]) ^ bits_of(g)) & SIGN) sign[i / 8] |= (uint8_t)(1 << (i % 8));
    memcpy(p, &z, 8); /* room is there; the next value overwrites the rest */
    p += bytes;
  }
  out->n = (size_t)(p - out->at);
}

void kn_values_get(kn_view* in, double* x, const double* guess, int n) {
  kn_view count = kn_get_view(in, (uint64_t)(n + 1) / 2), sign = kn_get_view(in, (uint64_t)(n + 7) / 8);
  for (int i = 0; i < n; i++) {
    uint64_t z = 0;
    int bytes = count.bad ? 0 : (count.at[i / 2] >> (4 * (i % 2))) & 15;
    bool flip = !sign.bad && (sign.at[i / 8] >> (i % 8) & 1);
    if (bytes > 8) in->bad = true, bytes = 0;
    kn_get(in, &z, (size_t)bytes);
    x[i] = undo(z, flip, guess ? guess[i] : 0.0);
  }
}

static void predict_v(kn_codec* c) {
  for (int i = 0; i < c->model->nv; i++) c->v0[i] = c->history > 1 ? 2.0 * c->v1[i] - c->v2[i] : c->v1[i];
}

static void predict_quat(double out[4], const double q[4], const double* w1, const double* w, double dt) {
  double h = 0.25 * dt, a = h * (w1[0] + w[0]), b = h * (w1[1] + w[1]), d = h * (w1[2] + w[2]);
  double r[4] = {q[0] - q[1] * a - q[2] * b - q[3] * d, q[1] + q[0] * a + q[2] * d - q[3] * b,
                 q[2] + q[0] * b - q[1] * d + q[3] * a, q[3] + q[0] * d + q[1] * b - q[2] * a};
  double n = sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2] + r[3] * r[3]);
  for (int i = 0; i < 4; i++) out[i] = n > 0.0 ? r[i] / n : q[i];
}

static void predict_q(kn_codec* c, const double* v, double dt) {
  for (int k = 0; k < c->model->nlink; k++) {
    const kn_link* l = &c->model->link[k];
    const double *q = c->q1 + l->q, *v1 = c->v1 + l->v, *w = v + l->v;
    double* out = c->q0 + l->q;
    int turn = l->type == KN_LINK_FREE ? 3 : 0;
    int lines = l->type == KN_LINK_BALL ? 0 : l->type == KN_LINK_FREE ? 3 : l->nq;
    for (int i = 0; i < lines; i++) out[i] = q[i] + 0.5 * dt * (v1[i] + w[i]);
    if (l->type == KN_LINK_BALL || l->type == KN_LINK_FREE)
      predict_quat(out + turn, q + turn, v1 + turn, w + turn, dt);
  }
}

static void remember(kn_codec* c, const double* q, const double* v) {
  memcpy(c->v2, c->v1, (size_t)c->model->nv * sizeof(double));
  memcpy(c->v1, v, (size_t)c->model->nv * sizeof(double));
  memcpy(c->q1, q, (size_t)c->model->nq * sizeof(double));
  if (c->history < 2) c->history++;
}

void kn_codec_put(kn_codec* c, kn_bytes* out, const double* q, const double* v, double dt) {
  if (c->history) predict_v(c), predict_q(c, v, dt);
  kn_values_put(out, v, c->history ? c->v0 : NULL, c->model->nv);
  kn_values_put(out, q, c->history ? c->q0 : NULL, c->model->nq);
  remember(c, q, v);
}

void kn_codec_get(kn_codec* c, kn_view* in, double* q, double* v, double dt) {
  if (c->history) predict_v(c);
  kn_values_get(in, v, c->history ? c->v0 : NULL, c->model->nv);
  if (c->history) predict_q(c, v, dt);
  kn_values_get(in, q, c->history ? c->q0 : NULL, c->model->nq);
  remember(c, q, v);
}
