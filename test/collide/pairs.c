/* Every pair of convex shapes in every hard situation. The gap is judged by duality: it must equal the
   separation along the reported normal (a lower bound of the distance, an upper bound of the depth), the
   witnesses must lie on both surfaces (an upper bound of the distance), and overlapping no other direction
   may separate more. */
#include "shapes.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

typedef struct tally {
  long count, overlaps, bad;
  double worst_dual, worst_witness, worst_swap, worst_move, worst_jump, worst_better, worst_normal,
      worst_place;
} tally;

static tally total[KN_SHAPE_COUNT][KN_SHAPE_COUNT];

static double norm3(const double* x) { return sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]); }

static void report(const kn_test_pair* s, const char* what, double got, double limit) {
  static int shown = 0;
  if (shown++ > 20) return;
  printf("%s: %g > %g, types %d %d class %d size %g\n", what, got, limit, (int)s->a.type, (int)s->b.type,
         (int)s->kind, s->size);
  for (int side = 0; side < 2; side++) {
    const kn_shape* x = side ? &s->b : &s->a;
    const kn_pose* P = side ? &s->B : &s->A;
    printf(" {.size = {%.17g, %.17g, %.17g}", x->size[0], x->size[1], x->size[2]);
    for (int k = 0; x->hull && k < KN_TEST_HULLS; k++)
      if (kn_test_hull(k) == x->hull) printf(", .hull = kn_test_hull(%d)", k);
    printf("}, {.R = {");
    for (int k = 0; k < 9; k++) printf("%.17g%s", P->R[k], k < 8 ? ", " : "}, .p = {");
    printf("%.17g, %.17g, %.17g}}\n", P->p[0], P->p[1], P->p[2]);
  }
}

static void judge(const kn_test_pair* s, double value, double* worst, const char* what, bool* ok) {
  double limit = 1e-9 * s->size;
  *worst = fmax(*worst, value / s->size);
  if (!(value <= limit)) {
    *ok = false;
    report(s, what, value, limit);
  }
}

/* Best separation over random directions near and far from the reported one, improved by a pattern search. */
static double better_direction(const kn_test_pair* s, const kn_distance_result* r, kn_rng* rng) {
  double top = -INFINITY;
  for (int k = 0; k < 12; k++) {
    double n[3], l, spread = k < 6 ? 3 : pow(10, 4 - k), d[3];
    kn_test_direction(d, rng);
    for (int i = 0; i < 3; i++) n[i] = d[i] * spread + r->normal[i];
    l = norm3(n);
    for (int i = 0; i < 3; i++) n[i] /= l;
    top = fmax(top, kn_test_separation(&s->a, &s->A, &s->b, &s->B, n));
  }
  return top;
}

static void move(kn_pose* P, const kn_pose* Q) {
  kn_pose out;
  for (int i = 0; i < 3; i++) {
    for (int j = 0; j < 3; j++)
      out.R[3 * i + j] =
          Q->R[3 * i] * P->R[j] + Q->R[3 * i + 1] * P->R[3 + j] + Q->R[3 * i + 2] * P->R[6 + j];
    out.p[i] = Q->R[3 * i] * P->p[0] + Q->R[3 * i + 1] * P->p[1] + Q->R[3 * i + 2] * P->p[2] + Q->p[i];
  }
  *P = out;
}

static bool strictly_convex(const kn_shape* s) {
  return s->type == KN_SHAPE_SPHERE || s->type == KN_SHAPE_ELLIPSOID;
}

/* Apart the normal is unique, and so are the witnesses if one shape has no flat or straight part. A gap right
   to 1e-12 of itself leaves the direction free by the root of that, 1e-6 where it is small; slender shapes
   turn this into a sideways error that grows with their size over the gap. */
static void check_unique(const kn_test_pair* s, const kn_distance_result* r, const double normal[3],
                         const double on_a[3], tally* t, bool* ok) {
  if (!(r->gap > 1e-2 * s->size)) return;
  double dn = 0, dx = 0;
  for (int i = 0; i < 3; i++)
    dn = fmax(dn, fabs(normal[i] - r->normal[i])), dx = fmax(dx, fabs(on_a[i] - r->on_a[i]));
  t->worst_normal = fmax(t->worst_normal, dn);
  if (!(dn <= 1e-5)) report(s, "normal not the same", dn, 1e-5), *ok = false;
  if (s->kind == KN_TEST_SLENDER || !(strictly_convex(&s->a) || strictly_convex(&s->b))) return;
  t->worst_place = fmax(t->worst_place, dx / s->size);
  if (!(dx <= 1e-5 * s->size)) report(s, "witness not the same", dx, 1e-5 * s->size), *ok = false;
}

static void turn_back(double out[3], const kn_pose* Q, const double x[3], double shift) {
  double y[3];
  for (int i = 0; i < 3; i++) y[i] = x[i] - shift * Q->p[i];
  for (int i = 0; i < 3; i++) out[i] = Q->R[i] * y[0] + Q->R[3 + i] * y[1] + Q->R[6 + i] * y[2];
}

static void check_pair(const kn_test_pair* s, kn_rng* rng) {
  tally* t = &total[s->a.type][s->b.type];
  bool ok = true, plane = s->a.type == KN_SHAPE_PLANE;
  kn_distance_result r, q;
  t->count++;
  if (kn_distance(&r, &s->a, &s->A, &s->b, &s->B, NULL) != KN_OK) {
    report(s, kn_last_error(), 0, 0);
    t->bad++;
    return;
  }
  t->overlaps += r.gap < 0;
  double w = 0, finite = r.gap;
  for (int i = 0; i < 3; i++)
    w = fmax(w, fabs(r.on_a[i] - r.on_b[i] - r.gap * r.normal[i])),
    finite += r.normal[i] + r.on_a[i] + r.on_b[i];
  if (!isfinite(finite)) report(s, "not finite", finite, 0), ok = false;
  if (!(fabs(norm3(r.normal) - 1) <= 1e-14)) report(s, "normal", norm3(r.normal), 1), ok = false;
  judge(s, w, &t->worst_witness, "witness difference", &ok);
  judge(s, kn_test_surface_error(&s->a, &s->A, r.on_a), &t->worst_witness, "witness on A", &ok);
  judge(s, kn_test_surface_error(&s->b, &s->B, r.on_b), &t->worst_witness, "witness on B", &ok);
  judge(s, fabs(kn_test_separation(&s->a, &s->A, &s->b, &s->B, r.normal) - r.gap), &t->worst_dual,
        "separation along the normal", &ok);
  if (r.gap < 0 && !plane)
    judge(s, better_direction(s, &r, rng) - r.gap, &t->worst_better, "a better direction", &ok);

  if (kn_distance(&q, &s->b, &s->B, &s->a, &s->A, NULL) != KN_OK) ok = false;
  judge(s, fabs(q.gap - r.gap), &t->worst_swap, "swap", &ok);
  double n[3] = {-q.normal[0], -q.normal[1], -q.normal[2]}, x[3];
  check_unique(s, &r, n, q.on_b, t, &ok);

  kn_pose Q;
  kn_test_rotation(Q.R, rng);
  for (int i = 0; i < 3; i++) Q.p[i] = kn_rng_range(rng, -2, 2);
  kn_pose A = s->A, B = s->B;
  move(&A, &Q), move(&B, &Q);
  if (kn_distance(&q, &s->a, &A, &s->b, &B, NULL) != KN_OK) ok = false;
  judge(s, fabs(q.gap - r.gap), &t->worst_move, "rigid motion", &ok);
  turn_back(n, &Q, q.normal, 0), turn_back(x, &Q, q.on_a, 1);
  check_unique(s, &r, n, plane ? r.on_a : x, t, &ok);

  double d[3], step = s->size * 1e-6;
  B = s->B;
  kn_test_direction(d, rng);
  for (int i = 0; i < 3; i++) B.p[i] += step * d[i];
  if (kn_distance(&q, &s->a, &s->A, &s->b, &B, NULL) != KN_OK) ok = false;
  judge(s, fabs(q.gap - r.gap) - step, &t->worst_jump, "jump", &ok);
  t->bad += !ok;
}

static void run(int per_class) {
  const char* only = getenv("KN_PAIR"); /* "23": capsule-cylinder alone; "231": in parallel poses */
  for (int a = KN_SHAPE_PLANE; a <= KN_SHAPE_HULL; a++)
    for (int b = a; b <= KN_SHAPE_HULL; b++) {
      if (a == KN_SHAPE_PLANE && b == KN_SHAPE_PLANE) continue;
      if (only && (only[0] - '0' != a || only[1] - '0' != b)) continue;
      for (int c = 0; c < KN_TEST_CLASSES; c++) {
        if (only && only[2] && only[2] - '0' != c) continue;
        kn_rng rng = kn_rng_seed(20260 + 1000 * (uint64_t)a + 100 * (uint64_t)b + (uint64_t)c);
        for (int i = 0; i < per_class; i++) {
          kn_test_pair s = kn_test_pair_make(&rng, (kn_shape_type)a, (kn_shape_type)b, (kn_test_class)c);
          check_pair(&s, &rng);
        }
      }
    }
}

TEST(every_pair_in_every_situation) {
  run(40 * kn_test_effort());
  long all = 0;
  for (int a = 0; a <= KN_SHAPE_HULL; a++)
    for (int b = a; b <= KN_SHAPE_HULL; b++) {
      const tally* t = &total[a][b];
      if (!t->count) continue;
      all += t->count;
      if (getenv("KN_VERBOSE") || t->bad)
        printf("%d-%d: %ld pairs, %ld overlapping, %ld bad; worst dual %.1e witness %.1e better %.1e swap "
               "%.1e move %.1e jump %.1e normal %.1e place %.1e\n",
               a, b, t->count, t->overlaps, t->bad, t->worst_dual, t->worst_witness, t->worst_better,
               t->worst_swap, t->worst_move, t->worst_jump, t->worst_normal, t->worst_place);
      CHECK_INT(t->bad, 0);
      CHECK(t->overlaps > t->count / 20); /* the situations do reach both sides */
      CHECK(t->overlaps < t->count);
    }
  printf("%ld pairs\n", all);
}

/* Only the first 31 directions to start from were kept, not the best: the last faces of a hull were never
   looked at, and which of two nearly equal depths was found changed under rigid motion. */
TEST(ellipsoids_inside_hulls_of_many_faces_see_the_last_face) {
  static const double gap[2] = {-0.557904830242, -1.379515933714};
  const kn_test_pair in[2] = {{.a = {.type = KN_SHAPE_ELLIPSOID,
                                     .size = {0.50429108112485377, 1.4957884092602092, 0.53435738263371202}},
                               .b = {.type = KN_SHAPE_HULL, .hull = kn_test_hull(2)},
                               .A = {.R = {0.6132409189797885, 0.66322508583120543, 0.42903153824982915,
                                           -0.11391897157833558, 0.61173003393528236, -0.78282107374295484,
                                           -0.78163805127652197, 0.43118308304678249, 0.45069180788085406}},
                               .B = {.R = {0.65856451548529527, 0.59487315115885164, 0.46088904627248006,
                                           -0.050514822189421493, 0.64602218534192002, -0.76164531691937898,
                                           -0.75082689861431395, 0.47831085088714853, 0.45549719893850343},
                                     .p = {-7.1759393e-10, 1.11677323e-09, 1.5738832e-10}}},
                              {.a = {.type = KN_SHAPE_ELLIPSOID,
                                     .size = {1.5011603471237456, 0.46891085217023021, 0.74576424669670938}},
                               .b = {.type = KN_SHAPE_HULL, .hull = kn_test_hull(11)},
                               .A = {.R = {1, 0, 0, 0, 1, 0, 0, 0, 1}},
                               .B = {.R = {1, 0, 0, 0, 1, 0, 0, 0, 1}}}};
  kn_rng rng = kn_rng_seed(3);
  for (int i = 0; i < 400; i++) {
    kn_distance_result d;
    kn_pose Q, A = in[i % 2].A, B = in[i % 2].B;
    kn_test_rotation(Q.R, &rng);
    for (int k = 0; k < 3; k++) Q.p[k] = kn_rng_range(&rng, -2, 2);
    move(&A, &Q), move(&B, &Q);
    CHECK_INT(kn_distance(&d, &in[i % 2].a, &A, &in[i % 2].b, &B, NULL), KN_OK);
    CHECK_NEAR(d.gap, gap[i % 2], 1e-9); /* the poses are rounded to 1e-10 here */
  }
}

/* Two caps turned by 3e-8: from the axis of one only a narrow range of directions leads to the best normal,
   and the search went through eight of them; the witnesses were 0.04 off. */
TEST(caps_nearly_face_to_face_have_fitting_witnesses) {
  const kn_shape a = {.type = KN_SHAPE_CYLINDER, .size = {0.77737509998691101, 0.57577042204278484}};
  const kn_shape b = {.type = KN_SHAPE_CYLINDER, .size = {1.2062050718699442, 0.61214405351987999}};
  const kn_pose A = {.R = {-0.62956838538846394, -0.28627171806302665, 0.72228259812666451,
                           -0.42848657228251619, 0.90341652695243113, -0.015421939008674196,
                           -0.64810717130189333, -0.31919755993185506, -0.69142607142094903},
                     .p = {-0.66216162162537007, 0.82093429131082507, -0.87801482746738402}};
  const kn_pose B = {.R = {-0.62956841052229362, -0.28627172174282078, 0.72228257476062163,
                           -0.42848656691597303, 0.90341652940975925, -0.01542194416372277,
                           -0.64810715043501521, -0.31919754967672698, -0.69142609571477509},
                     .p = {-1.2909785166779555, 1.7547259925005885, -0.52310897275031776}};
  kn_distance_result d;
  CHECK_INT(kn_distance(&d, &a, &A, &b, &B, NULL), KN_OK);
  for (int i = 0; i < 3; i++) CHECK_NEAR(d.on_a[i] - d.on_b[i], d.gap * d.normal[i], 1e-12);
  CHECK_NEAR(d.gap, -0.473938963058544, 1e-12);
}

/* Equal cylinders turned by 1e-9 and shifted sideways: the contact is where the rims cross, which the normal
   alone does not tell any more; the witnesses were up to 1 m off. */
TEST(caps_whose_rims_cross_have_fitting_witnesses) {
  const kn_test_pair in[] = {
      {.a = {.type = KN_SHAPE_CYLINDER, .size = {1.3262496205631997, 0.51053459510656574}},
       .b = {.type = KN_SHAPE_CYLINDER, .size = {1.3262496205631997, 0.51053459510656574}},
       .A = {.R = {-0.013356616111645625, 0.99942453332744063, -0.031180169808280922, -0.92566132947360857,
                   -0.00056692717749262656, 0.37835272129420011, 0.37811731502696005, 0.033915789491069381,
                   0.92513621445709282},
             .p = {-0.072891790843956583, 0.97324897874340754, -0.94086770484134274}},
       .B = {.R = {-0.013356625641080954, 0.99942453304427481, -0.031180174802537517, -0.92566132948186597,
                   -0.00056693411414846212, 0.37835272126360397, 0.37811731467012749, 0.033915797719396179,
                   0.92513621430128268},
             .p = {-0.072873669259227183, 0.9656860393584793, -0.93931023598855379}}},
      {.a = {.type = KN_SHAPE_CYLINDER, .size = {1.0295284532974884, 0.8940407593245927}},
       .b = {.type = KN_SHAPE_CYLINDER, .size = {1.0295284532974884, 0.8940407593245927}},
       .A = {.R = {0.12413039634233791, -0.29934419177918392, 0.94603630984860243, -0.060223155255553745,
                   -0.95392523517550876, -0.29393845829767795, 0.99043667958883641, -0.020486594236657052,
                   -0.13643856925965969},
             .p = {0.36412559595790506, 0.19676815900361277, -0.64698992256681742}},
       .B = {.R = {0.12413039635753016, -0.29934419297479736, 0.94603630946829376, -0.060223155196317109,
                   -0.9539252348053483, -0.29393845951110487, 0.99043667959053427, -0.020486594002624911,
                   -0.13643856928247525},
             .p = {0.36392632490587212, 0.19681780942583937, -0.64631266611665605}}},
  };
  for (int i = 0; i < 4; i++) {
    const kn_test_pair* p = &in[i / 2];
    kn_distance_result d;
    CHECK_INT(i % 2 ? kn_distance(&d, &p->b, &p->B, &p->a, &p->A, NULL)
                    : kn_distance(&d, &p->a, &p->A, &p->b, &p->B, NULL),
              KN_OK);
    for (int k = 0; k < 3; k++) CHECK_NEAR(d.on_a[k] - d.on_b[k], d.gap * d.normal[k], 1e-12);
  }
}

/* The least depth was across the cylinder's side and an edge of the hull; which of two such edges was found
   changed under rigid motion. */
TEST(cylinders_inside_hulls_see_every_edge) {
  static const double gap[] = {-1.272547461489, -1.582225046134, -0.983624414026};
  const kn_test_pair in[] = {
      {.a = {.type = KN_SHAPE_CYLINDER, .size = {1.1040891033706681, 1.2300856581381163}},
       .b = {.type = KN_SHAPE_HULL, .hull = kn_test_hull(12)},
       .A = {.R = {-0.20658631843493502, 0.017064630771162326, 0.97827955688143842, 0.93482790911286617,
                   -0.29170362033916764, 0.20249883511933897, 0.28882325629901456, 0.95635652152200346,
                   0.044309483896422197},
             .p = {0.34765300312561154, 0.39697899086809563, -0.36601857375668767}},
       .B = {.R = {-0.50488261723859051, 0.83124805807583346, -0.23263750504909378, -0.61588773646920258,
                   -0.53573837416544201, -0.5776388928330668, -0.60479404666146741, -0.14836124962983133,
                   0.78244047743654066},
             .p = {0.60882941554704506, 0.79160481311909692, 0.33048008324370615}}},
      {.a = {.type = KN_SHAPE_CYLINDER, .size = {1.0768762005657233, 1.4842427212497904}},
       .b = {.type = KN_SHAPE_HULL, .hull = kn_test_hull(18)},
       .A = {.R = {0.82214503446205767, 0.12199749212193714, -0.55605229450595739, -0.56927801110921161,
                   0.17669746404218001, -0.8029324705531613, 0.00029728256328137581, 0.97667528796269876,
                   0.21472143233980434},
             .p = {0.34021995595897092, -0.64191006275396068, -0.021962760342651322}},
       .B = {.R = {-0.31718511675227812, 0.54510464223858235, 0.77605059804164189, 0.092797866368004966,
                   0.83221736257372181, -0.54662859185043033, -0.94381256492398369, -0.10136661403433372,
                   -0.31455150905825402},
             .p = {0.50132373053016754, -0.78150378029942735, 0.14649815368070973}}},
      {.a = {.type = KN_SHAPE_CYLINDER, .size = {0.21781644536606778, 0.79034378383953052}},
       .b = {.type = KN_SHAPE_HULL, .hull = kn_test_hull(11)},
       .A = {.R = {0.80050380004077082, 0.5905082111643607, 0.10243885331138947, -0.1319909724671266,
                   0.0069756556899961408, 0.99122637344598341, 0.58461273447254614, -0.80700148251112958,
                   0.083525791929025317},
             .p = {-0.91660193885505348, 0.49062430057310058, 0.28556768038808733}},
       .B = {.R = {-0.35785407668633029, -0.22248328496418623, -0.90688568613167497, -0.89621050360761267,
                   0.35453770266333495, 0.26666411572162085, 0.26219685929157022, 0.90818731839954114,
                   -0.32626461909910986},
             .p = {-0.75349753521339191, 0.33904493421075105, 0.30715777356049956}}},
  };
  kn_rng rng = kn_rng_seed(3);
  for (int i = 0; i < 90; i++) {
    const kn_test_pair* p = &in[i % 3];
    kn_distance_result d;
    kn_pose Q, A = p->A, B = p->B;
    kn_test_rotation(Q.R, &rng);
    for (int k = 0; k < 3; k++) Q.p[k] = kn_rng_range(&rng, -2, 2);
    move(&A, &Q), move(&B, &Q);
    CHECK_INT(kn_distance(&d, &p->a, &A, &p->b, &B, NULL), KN_OK);
    CHECK_NEAR(d.gap, gap[i % 3], 1e-11); /* rounding of the poses */
  }
}

/* A line of the side touched an edge of the hull 1.8 from the end of the line; the edges looked at were those
   near the end, and the witnesses did not fit. */
TEST(cylinder_sides_meet_hull_edges_far_from_their_ends) {
  const kn_test_pair p = {.a = {.type = KN_SHAPE_CYLINDER, .size = {0.72555481303172309, 1.5823918288592314}},
                          .b = {.type = KN_SHAPE_HULL, .hull = kn_test_hull(18)},
                          .A = {.R = {-0.10827271237522096, -0.98998181147427988, -0.090625783886355227,
                                      -0.65526455490567981, 0.002514167917435195, 0.75539528860322158,
                                      -0.74759974775221416, 0.14117256075380441, -0.64897220684020018},
                                .p = {-0.50832407387100553, 0.3952748976662217, 0.87824177474854759}},
                          .B = {.R = {-0.34236590105759301, 0.20948086319111051, 0.91591667620462547,
                                      0.063532049643270888, -0.96743619849199725, 0.24501200075807841,
                                      0.93741627277381234, 0.14207381815119527, 0.31790841721287311},
                                .p = {0.70872386387391573, 1.4152389396297016, 0.80423909516945324}}};
  for (int i = 0; i < 2; i++) {
    kn_distance_result d;
    CHECK_OK(i ? kn_distance(&d, &p.b, &p.B, &p.a, &p.A, NULL)
               : kn_distance(&d, &p.a, &p.A, &p.b, &p.B, NULL));
    CHECK_NEAR(d.gap, 0, 1e-13); /* placed so that they touch */
    for (int k = 0; k < 3; k++) CHECK_NEAR(d.on_a[k] - d.on_b[k], d.gap * d.normal[k], 1e-12);
  }
}
