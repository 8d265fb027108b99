/* Eigenvalues of a real matrix: Hessenberg form by elimination with exchanges, then QR steps with Wilkinson's shift
   in complex arithmetic (Golub and Van Loan, 7.4, 7.5). O(n³). */
#include "math/eigen.h"

#include <math.h>
#include <string.h>

typedef struct complex_number {
  double re, im;
} cx;

static cx add(cx a, cx b) { return (cx){a.re + b.re, a.im + b.im}; }
static cx sub(cx a, cx b) { return (cx){a.re - b.re, a.im - b.im}; }
static cx mul(cx a, cx b) { return (cx){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
static cx conj_of(cx a) { return (cx){a.re, -a.im}; }
static cx scale(cx a, double s) { return (cx){a.re * s, a.im * s}; }
static double size1(cx a) { return fabs(a.re) + fabs(a.im); }
static double size2(cx a) { return a.re * a.re + a.im * a.im; }

static cx root(cx a) {
  double r = sqrt(size2(a)), x = sqrt(0.5 * (r + fabs(a.re)));
  if (x == 0.0) return (cx){0.0, 0.0};
  if (a.re >= 0.0) return (cx){x, 0.5 * a.im / x};
  return (cx){0.5 * fabs(a.im) / x, copysign(x, a.im)};
}

/* Similarity by elimination with row exchanges, column by column. */
static void hessenberg(int n, cx* H) {
#define AT(i, j) H[(size_t)(i) * (size_t)n + (size_t)(j)]
  for (int k = 1; k < n - 1; k++) {
    int pivot = k;
    for (int i = k + 1; i < n; i++)
      if (fabs(AT(i, k - 1).re) > fabs(AT(pivot, k - 1).re)) pivot = i;
    double top = AT(pivot, k - 1).re;
    if (top == 0.0) continue;
    for (int j = 0; j < n && pivot != k; j++) {
      cx swap = AT(pivot, j);
      AT(pivot, j) = AT(k, j), AT(k, j) = swap;
    }
    for (int i = 0; i < n && pivot != k; i++) {
      cx swap = AT(i, pivot);
      AT(i, pivot) = AT(i, k), AT(i, k) = swap;
    }
    for (int i = k + 1; i < n; i++) {
      double f = AT(i, k - 1).re / top;
      if (f == 0.0) continue;
      for (int j = k - 1; j < n; j++) AT(i, j).re -= f * AT(k, j).re;
      for (int r = 0; r < n; r++) AT(r, k).re += f * AT(r, i).re;
      AT(i, k - 1).re = 0.0;
    }
  }
}

/* Eigenvalue of the last 2 x 2 block of rows up to `hi` that is nearer to its last entry. */
static cx shift_of(int n, const cx* H, int hi) {
  cx a = AT(hi - 1, hi - 1), b = AT(hi - 1, hi), c = AT(hi, hi - 1), d = AT(hi, hi);
  cx half = scale(sub(a, d), 0.5), disc = root(add(mul(half, half), mul(b, c)));
  if (half.re * disc.re + half.im * disc.im > 0.0) disc = scale(disc, -1.0);
  return add(d, add(half, disc));
}

/* One QR step with a shift on rows lo … hi. Only the eigenvalues are wanted, so nothing outside is touched.
 */
static void qr_step(int n, cx* H, int lo, int hi, cx shift) {
  cx s[64];
  double c[64]; /* rotations of up to 64 rows; see the caller */
  for (int i = lo; i <= hi; i++) AT(i, i) = sub(AT(i, i), shift);
  for (int k = lo; k < hi; k++) {
    cx a = AT(k, k), b = AT(k + 1, k);
    double na = sqrt(size2(a)), r = sqrt(size2(a) + size2(b));
    int at = k - lo;
    if (r == 0.0) {
      c[at] = 1.0, s[at] = (cx){0.0, 0.0};
      continue;
    }
    cx phase = na > 0.0 ? scale(a, 1.0 / na) : (cx){1.0, 0.0};
    c[at] = na / r;
    s[at] = scale(mul(phase, conj_of(b)), 1.0 / r);
    for (int j = k; j <= hi; j++) {
      cx x = AT(k, j), y = AT(k + 1, j);
      AT(k, j) = add(scale(x, c[at]), mul(s[at], y));
      AT(k + 1, j) = sub(scale(y, c[at]), mul(conj_of(s[at]), x));
    }
  }
  for (int k = lo; k < hi; k++) {
    int at = k - lo, last = k + 1;
    for (int i = lo; i <= last; i++) {
      cx x = AT(i, k), y = AT(i, k + 1);
      AT(i, k) = add(scale(x, c[at]), mul(conj_of(s[at]), y));
      AT(i, k + 1) = sub(scale(y, c[at]), mul(s[at], x));
    }
  }
  for (int i = lo; i <= hi; i++) AT(i, i) = add(AT(i, i), shift);
}

bool kn_eigenvalues(int n, double* re, double* im, const double* A, double* scratch) {
  cx* H = (cx*)scratch;
  enum { ROUNDS = 60 }; /* per eigenvalue; two or three are usual */
  for (int i = 0; i < n * n; i++) H[i] = (cx){A[i], 0.0};
  for (int i = 0; i < n; i++) re[i] = im[i] = 0.0;
  if (n > 64) return false;
  hessenberg(n, H);
  int hi = n - 1;
  for (int round = 0; hi > 0;) {
    int lo = hi;
    while (lo > 0 && size1(AT(lo, lo - 1)) > 1e-15 * (size1(AT(lo, lo)) + size1(AT(lo - 1, lo - 1)))) lo--;
    if (lo == hi) {
      re[hi] = AT(hi, hi).re, im[hi] = AT(hi, hi).im;
      hi--, round = 0;
      continue;
    }
    if (++round > ROUNDS) return false;
    cx shift = shift_of(n, H, hi);
    if (round % 11 == 0) shift = add(shift, (cx){size1(AT(hi, hi - 1)), 0.0}); /* out of a rut */
    qr_step(n, H, lo, hi, shift);
  }
  if (n > 0) re[0] = AT(0, 0).re, im[0] = AT(0, 0).im;
  return true;
#undef AT
}
