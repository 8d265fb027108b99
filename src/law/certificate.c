/* ρ(E) and repairs of E. With Q = W⁺ = RᵀR and φ = R⁺ y, |y| = 1:

     φᵀ E Q E φ / φᵀ Q φ = |R E R⁺ y|²,     ρ(E) = σmax(B)²,  B(E) = R E R⁺  (r x r, linear in E)

   so the consistent set {σmax(B) <= 1} is convex, and σmax(ē I + s (E - ē I)) is convex in s. W is decomposed
   by its eigenvectors, W = V D Vᵀ: R = D^-½ Vᵀ, R⁺ = V D^½ on the positive part (redundant contacts: φ stays
   in the range of W, where every real velocity is). The paper quantifies over all φ (its Eqs. 55, 56), which
   refuses consistent E when contacts are redundant. */
#include "law/certificate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "math/dense.h"
#include "math/eigen.h"

static void carve(kn_certificate_work* w, kn_arena* a) {
  size_t k = (size_t)w->max_k;
  double** squares[] = {&w->R, &w->Rp, &w->B, &w->S, &w->V, &w->gram};
  for (size_t i = 0; i < sizeof squares / sizeof *squares; i++) *squares[i] = KN_TAKE(a, double, k* k);
  double** vectors[] = {&w->sigma2, &w->y, &w->z, &w->x, &w->r, &w->step};
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) *vectors[i] = KN_TAKE(a, double, k + 1);
  w->u = KN_TAKE(a, double, k + 2);
  w->cut = KN_TAKE(a, double, KN_CERTIFICATE_CUTS* k);
  w->active = KN_TAKE(a, int, k + 2);
}

size_t kn_certificate_size(int max_k) {
  kn_certificate_work w = {.max_k = max_k};
  kn_arena measure = {0};
  carve(&w, &measure);
  return measure.used;
}

void kn_certificate_init(kn_certificate_work* w, int max_k, void* memory) {
  *w = (kn_certificate_work){.max_k = max_k};
  kn_arena a = {.base = memory, .capacity = kn_certificate_size(max_k)};
  carve(w, &a);
}

void kn_certificate_set(kn_certificate_work* w, int k, const double* W) {
  w->k = k;
  w->rank = 0;
  memcpy(w->B, W, (size_t)k * k * sizeof(double));
  kn_eigen_symmetric(k, w->B, w->sigma2, w->V);
  for (int j = 0; j < k; j++) {
    double d = w->sigma2[j];
    if (!(d > 1e-12 * w->sigma2[k - 1]) || !(d > 0.0)) continue;
    double root = sqrt(d);
    for (int i = 0; i < k; i++) w->R[(size_t)w->rank * k + i] = w->V[(size_t)i * k + j] / root;
    for (int i = 0; i < k; i++) w->Rp[(size_t)i * k + w->rank] = w->V[(size_t)i * k + j] * root;
    w->rank++;
  }
}

void kn_certificate_Q(double* y, kn_certificate_work* w, const double* x) {
  int k = w->k;
  for (int i = 0; i < w->rank; i++) w->step[i] = kn_dot(k, w->R + (size_t)i * k, x);
  memset(y, 0, (size_t)k * sizeof(double));
  for (int i = 0; i < w->rank; i++) kn_axpy(k, y, w->step[i], w->R + (size_t)i * k);
}

double kn_certificate_rho(kn_certificate_work* w, const double* e) {
  int k = w->k, r = w->rank;
  for (int i = 0; i < r; i++) /* B, r x r */
    for (int j = 0; j < r; j++) {
      double sum = 0.0;
      for (int c = 0; c < k; c++) sum += w->R[(size_t)i * k + c] * e[c] * w->Rp[(size_t)c * k + j];
      w->B[(size_t)i * r + j] = sum;
    }
  for (int i = 0; i < r; i++)
    for (int j = 0; j <= i; j++) {
      double sum = 0.0;
      for (int c = 0; c < r; c++) sum += w->B[(size_t)c * r + i] * w->B[(size_t)c * r + j];
      w->S[(size_t)i * r + j] = w->S[(size_t)j * r + i] = sum;
    }
  kn_eigen_symmetric(r, w->S, w->sigma2, w->V);
  return r ? w->sigma2[r - 1] : 0.0;
}

void kn_certificate_gainer(double* phi, kn_certificate_work* w) {
  int k = w->k, r = w->rank;
  for (int i = 0; i < k; i++) {
    phi[i] = 0.0;
    for (int c = 0; c < r; c++) phi[i] += w->Rp[(size_t)i * k + c] * w->V[(size_t)c * r + r - 1];
    phi[i] *= sqrt(2.0); /* ½ φᵀQφ = ½ |Rφ|² = 1 */
  }
}

static double blend(double* out, kn_certificate_work* w, const double* e, double mean, double s) {
  for (int i = 0; i < w->k; i++) out[i] = mean + s * (e[i] - mean);
  return kn_certificate_rho(w, out);
}

/* The consistent s are an interval that begins at 0: bisection finds its end. */
static void towards_mean(double* out, kn_certificate_work* w, const double* e) {
  double mean = 0.0, low = 0.0, high = 1.0;
  for (int i = 0; i < w->k; i++) mean += e[i] / w->k;
  for (int n = 0; n < 52; n++) {
    double s = 0.5 * (low + high);
    if (blend(out, w, e, mean, s) <= 1.0)
      low = s;
    else
      high = s;
  }
  blend(out, w, e, mean, low);
}

double kn_certificate_repair(double* repaired, kn_certificate_work* w, const double* e, kn_repair repair) {
  double rho = kn_certificate_rho(w, e);
  if (!(rho > 1.0 + 1e-12)) {
    if (repaired != e) memcpy(repaired, e, (size_t)w->k * sizeof(double));
    return rho;
  }
  memcpy(w->z, e, (size_t)w->k * sizeof(double));
  if (repair == KN_REPAIR_NEAREST)
    kn_certificate_nearest(repaired, w, w->z);
  else if (repair == KN_REPAIR_MEAN)
    towards_mean(repaired, w, w->z);
  else
    for (int i = 0; i < w->k; i++) repaired[i] = w->z[i] / sqrt(rho);
  return rho;
}

/* ---- public ---- */

static kn_status check(int k, const double* W, const double* e) {
  KN_REQUIRE(W && e && k >= 1);
  if (k > KN_CERTIFY_CONTACTS)
    return kn_fail(KN_NO_ROOM, "%d contacts in a certificate, room for %d", k, KN_CERTIFY_CONTACTS);
  for (int i = 0; i < k; i++) {
    if (!(e[i] >= 0.0 && e[i] <= 1.0))
      return kn_fail(KN_BAD_ARGUMENT, "restitution %d is %g, must be in [0, 1]", i + 1, e[i]);
    for (int j = 0; j < k; j++)
      if (!isfinite(W[(size_t)i * k + j])) return kn_fail(KN_NOT_FINITE, "W holds a NaN or infinity");
    if (!(W[(size_t)i * k + i] >= 0.0))
      return kn_fail(KN_BAD_ARGUMENT, "W is not positive semidefinite: entry (%d, %d) is %g", i + 1, i + 1,
                     W[(size_t)i * k + i]);
  }
  return KN_OK;
}

static kn_status open_work(kn_certificate_work* w, void** memory, int k, const double* W) {
  *memory = aligned_alloc(64, (kn_certificate_size(k) + 127) / 64 * 64);
  if (!*memory) return kn_fail(KN_OUT_OF_MEMORY, "certificate: out of memory");
  kn_certificate_init(w, k, *memory);
  kn_certificate_set(w, k, W);
  return KN_OK;
}

kn_status kn_certify_rho(double* rho, int k, const double* W, const double* e) {
  KN_REQUIRE(rho != NULL);
  KN_TRY(check(k, W, e));
  kn_certificate_work w;
  void* memory;
  KN_TRY(open_work(&w, &memory, k, W));
  *rho = kn_certificate_rho(&w, e);
  free(memory);
  return KN_OK;
}

kn_status kn_certify(kn_energy_certificate* out, double* e_repaired, int k, const double* W, const double* e,
                     kn_repair repair) {
  KN_REQUIRE(out != NULL);
  KN_TRY(check(k, W, e));
  kn_certificate_work w;
  void* memory;
  double fixed[KN_CERTIFY_CONTACTS], sum = 0.0;
  KN_TRY(open_work(&w, &memory, k, W));
  *out = (kn_energy_certificate){.contacts = k, .rank = w.rank, .approach = KN_APPROACH_NO};
  out->rho = kn_certificate_repair(fixed, &w, e, repair);
  out->consistent = out->rho <= 1.0 + 1e-12;
  out->cuts = w.cuts;
  for (int i = 0; i < k; i++) sum += (fixed[i] - e[i]) * (fixed[i] - e[i]);
  out->distance = sqrt(sum);
  if (e_repaired) memcpy(e_repaired, fixed, (size_t)k * sizeof(double));
  if (!out->consistent) {
    out->gain = kn_certificate_rho(&w, e) - 1.0;
    kn_certificate_gainer(out->velocity, &w);
    out->approach = kn_certificate_approach(out->approaching, &out->approaching_gain, &w, e);
  }
  free(memory);
  return KN_OK;
}

/* Mass 1, length 1: W_ij = 1/m + x_i x_j / I with I = 1/12. */
kn_status kn_certify_rod(double* W, int k, const double* position) {
  KN_REQUIRE(W && position && k >= 1);
  for (int i = 0; i < k; i++)
    if (!(position[i] >= -0.5 && position[i] <= 0.5))
      return kn_fail(KN_BAD_ARGUMENT, "contact %d is at %g, the rod reaches from -0.5 to 0.5", i + 1,
                     position[i]);
  for (int i = 0; i < k; i++)
    for (int j = 0; j < k; j++) W[(size_t)i * k + j] = 1.0 + 12.0 * position[i] * position[j];
  return KN_OK;
}
