/* Sine and cosine of a reduced argument r + y, |r| <= pi/4, y the low word of r, and the reduction
   x = k pi/2 + r + y by three words of pi/2 with 33, 33 and 53 bits (Cody and Waite 1980): k p1 and k p2 are
   exact for |k| < 2^20, so no fused operation is needed. Polynomials: minimax (Remez), z = r²,
     sin r = r + r z S(z), error 4e-18;   cos r = 1 - z/2 + z² C(z), error 5e-20.
   Written for scalars and vectors alike: only + - *. */
#define KN_P1           0x1.921fb54400000p+0
#define KN_P2           0x1.0b4611a600000p-34
#define KN_P3           0x1.3198a2e037073p-69
#define KN_MAGIC        0x1.8p52 /* adding it rounds to the nearest integer, kept in the low bits */
#define KN_SINCOS_LIMIT 1e6

/* Six coefficients in pairs (Estrin): the shortest chain. */
#define KN_POLY6(z, w, a, b, c, d, e, f)                                                                     \
  (((a) + (z) * (b)) + (w) * (((c) + (z) * (d)) + (w) * ((e) + (z) * (f))))

#define KN_SIN_POLY(r, y, z, w)                                                                              \
  ((r) +                                                                                                     \
   ((y) + ((r) * (z)*KN_POLY6(z, w, -0x1.5555555555549p-3, 0x1.111111110f861p-7, -0x1.a01a019c0e4e0p-13,     \
                              0x1.71de3574bbc1ap-19, -0x1.ae5e63ce797e5p-26, 0x1.5d92470b83e4ep-33) -        \
           0.5 * (z) * (y))))

#define KN_COS_TAIL(z, w)                                                                                    \
  ((w)*KN_POLY6(z, w, 0x1.555555555554cp-5, -0x1.6c16c16c15163p-10, 0x1.a01a019caeff2p-16,                   \
                -0x1.27e4f807dd98dp-22, 0x1.1ee9ea7153e1dp-29, -0x1.8fadd29944fb5p-37))
