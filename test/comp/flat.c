/* Contacts of motions in a plane: the modes found by pivoting (src/comp/cone/flat.c) are an answer to the judge,
   warm or cold, from anywhere, and jams need no sweeps. */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "knuckle/comp.h"
#include "test.h"

enum { MOST = 6, ROWS = 3 * MOST, DOFS = 8 };

typedef struct planar {
  double W[ROWS * ROWS], q[ROWS];
  kn_block block[MOST];
  kn_problem p;
} planar;

/* W = J J^T, q = J v + … with J of the contacts' normal and one tangent; the other tangent's row is zero.
   Some blocks are intervals. tiny: how much less the first contact yields along its normal. */
static void generate(planar* g, kn_rng* rng, int contacts, int dofs, double tiny) {
  double J[ROWS][DOFS] = {{0}}, v[DOFS];
  int rows = 0;
  for (int i = 0; i < dofs; i++) v[i] = kn_rng_normal(rng);
  for (int b = 0; b < contacts; b++) {
    bool line = kn_rng_int(rng, 5) == 0;
    int other = 1 + kn_rng_int(rng, 2);
    g->block[b] = line ? (kn_block){.set = KN_SET_BOX, .row = rows, .lo = -0.1, .hi = 0.2}
                       : (kn_block){.set = KN_SET_CONE3, .row = rows, .mu = 0.8 * kn_rng_unit(rng)};
    for (int k = 0; k < (line ? 1 : 3); k++, rows++)
      for (int i = 0; i < dofs && (line || k != other); i++)
        J[rows][i] = kn_rng_normal(rng) * (b == 0 && k == 0 ? tiny : 1.0);
  }
  for (int i = 0; i < rows; i++) {
    g->q[i] = 0.0;
    for (int k = 0; k < dofs; k++) g->q[i] += J[i][k] * v[k];
    for (int j = 0; j < rows; j++) {
      g->W[i * rows + j] = 0.0;
      for (int k = 0; k < dofs; k++) g->W[i * rows + j] += J[i][k] * J[j][k];
    }
  }
  g->p = (kn_problem){.rows = rows, .blocks = contacts, .block = g->block, .W = g->W, .q = g->q};
}

TEST(modes_of_random_planar_contacts_satisfy_the_judge) {
  kn_solver_work* work = NULL;
  CHECK_OK(kn_solver_work_create(&work, ROWS, MOST, 0));
  kn_rng rng = kn_rng_seed(71);
  int by_modes = 0, total = 0;
  for (int k = 0; k < 3000 * kn_test_effort(); k++) {
    planar g;
    double r[ROWS];
    kn_solve_info info;
    generate(&g, &rng, 1 + k % MOST, 3 + k % 6, k % 3 ? 1.0 : 1e-5);
    kn_solve_settings s = kn_solve_default();
    size_t before = kn_test_allocations();
    s.warm_start = k & 1; /* from nowhere near */
    for (int i = 0; i < g.p.rows; i++) r[i] = kn_rng_normal(&rng);
    kn_status status = kn_problem_solve(r, &info, &g.p, &s, work);
    CHECK_INT(kn_test_allocations() - before, 0);
    CHECK_OK(status);
    CHECK_BELOW(kn_problem_error_scaled(&g.p, r), s.tol);
    by_modes += !strcmp(info.solver, "modes") || !strcmp(info.solver, "zero"), total++;
  }
  printf("%d of %d by their modes\n", by_modes, total);
  CHECK(by_modes * 100 >= total * 97); /* 256 combinations are the most that are tried */
  kn_solver_work_destroy(work);
}

/* A folded chain of twelve links whose contact pushes along its own hinge's arm: 3e-12 of the others'
   response. The driver took fifty to six hundred rounds for it, at every step. */
TEST(jam_of_a_folded_chain_takes_pivots_not_sweeps) {
  static const double n[6][7] = {{1.0, 0.931948780944862, -0.369601734279734, -0.199296098119058,
                                  0.505570748549428, -0.0312917282356385, 2.319186e-03},
                                 {0.931948780944862, 1.0, -0.390020733557227, 0.0654985104059212,
                                  0.54843766960386, 0.238305343178347, 5.174801e-04},
                                 {-0.369601734279734, -0.390020733557227, 1.0, -0.217525631282308,
                                  0.556068093481413, -0.279794533672964, -3.316698e-02},
                                 {-0.199296098119058, 0.0654985104059212, -0.217525631282308, 1.0,
                                  -0.1384522625952, 0.984713457868029, -4.433641e-04},
                                 {0.505570748549428, 0.54843766960386, 0.556068093481413, -0.138452262595199,
                                  1.0, -0.039019533206357, 5.202352e-03},
                                 {-0.0312917282356385, 0.238305343178347, -0.279794533672964,
                                  0.984713457868029, -0.039019533206357, 1.0, -3.410848e-04}};
  static const double scale[6] = {1.6e-4 * 1e-2, 2.1, 0.65, 1.24, 0.71, 1.27}; /* W_ii^1/2 */
  enum { N = 9 };
  double W[N * N] = {0}, q[N] = {0}, r[N] = {0}, worst = 0.0;
  int row[6] = {0, 1, 3, 5, 6, 8};
  kn_block block[3];
  for (int b = 0; b < 3; b++) block[b] = (kn_block){.set = KN_SET_CONE3, .row = 3 * b, .mu = 0.5};
  for (int i = 0; i < 6; i++) {
    q[row[i]] = n[i][6] * scale[i];
    for (int j = 0; j < 6; j++) W[row[i] * N + row[j]] = 0.5 * (n[i][j] + n[j][i]) * scale[i] * scale[j];
  }
  kn_problem p = {.rows = N, .blocks = 3, .block = block, .W = W, .q = q};
  kn_solver_work* work = NULL;
  kn_solve_info info;
  CHECK_OK(kn_solver_work_create(&work, N, 3, 0));
  CHECK_OK(kn_problem_solve(r, &info, &p, NULL, work));
  CHECK_TEXT(info.solver, "modes");
  CHECK(info.iterations <= 64);
  for (int i = 0; i < N; i++) worst = fmax(worst, r[i] != r[i] ? INFINITY : 0.0);
  CHECK(worst == 0.0);
  kn_solver_work_destroy(work);
}

enum { JAM_ROWS = 9 };

/* Three contacts of a jam; d: the six rows that take part, each with q and the impulse of the step before. */
static void solve_jam(double d[6][8], int most) {
  double W[JAM_ROWS * JAM_ROWS] = {0}, q[JAM_ROWS] = {0}, r[JAM_ROWS] = {0};
  static const int row[6] = {0, 1, 3, 5, 6, 8};
  kn_block block[3];
  kn_solver_work* work = NULL;
  kn_solve_info info;
  kn_solve_settings s = kn_solve_default();
  for (int b = 0; b < 3; b++) block[b] = (kn_block){.set = KN_SET_CONE3, .row = 3 * b, .mu = 0.5};
  for (int i = 0; i < 6; i++) {
    q[row[i]] = d[i][6], r[row[i]] = d[i][7];
    for (int j = 0; j < 6; j++) W[row[i] * JAM_ROWS + row[j]] = d[i][j];
  }
  kn_problem p = {.rows = JAM_ROWS, .blocks = 3, .block = block, .W = W, .q = q};
  s.warm_start = true;
  CHECK_OK(kn_solver_work_create(&work, JAM_ROWS, 3, 0));
  CHECK_OK(kn_problem_solve(r, &info, &p, &s, work));
  CHECK_TEXT(info.solver, "modes");
  CHECK(info.iterations <= most);
  CHECK_BELOW(kn_problem_error_scaled(&p, r), s.tol);
  kn_solver_work_destroy(work);
}

/* A normal that yields 6e-17 of the others was no problem for the modes: 491 rounds of fallbacks, 440 us. */
TEST(jam_whose_normal_hardly_yields_goes_by_modes) {
  double d[6][8] = {
      {2.7032700096931002e-16, 3.1804372647246281e-08, -3.9950415516338086e-09, -4.4119529446317839e-09,
       5.7692373079536557e-09, -1.0610147028759433e-09, 3.4748665750372609e-11, 0.00060826051672231902},
      {3.1804372647246281e-08, 4.3766781582602787, -0.53155220350494659, 0.1672106127642789,
       0.81213428931995535, 0.62834148759930497, -0.0023735706646844101, 0.00030411432688982616},
      {-3.9950415516338086e-09, -0.53155220350494659, 0.42121649228922708, -0.17134388752230184,
       0.25802434309078237, -0.22734872117411109, -0.017220270052205805, 0.0091123503115893307},
      {-4.4119529446317839e-09, 0.1672106127642789, -0.17134388752230184, 1.5268519488424486,
       -0.12000846374614541, 1.5444694130409429, -0.00070470171232960011, 0.0014541704830570489},
      {5.7692373079536557e-09, 0.81213428931995535, 0.25802434309078237, -0.12000846374614541,
       0.50735816123871558, -0.034441240798149461, -0.017946575743791361, 0},
      {-1.0610147028759433e-09, 0.62834148759930497, -0.22734872117411109, 1.5444694130409429,
       -0.034441240798149461, 1.6106720544073745, -0.00095478330208283429, 0}};
  solve_jam(d, 63);
}

/* It sticks with mu = 5e6 in its own units; the right modes left 1.4e-10 where the judge takes 1e-10, because
   the bits of r_N are lost in the sum for u_T. All modes and then the fallbacks were tried, 320 us. */
TEST(last_bits_of_a_sticking_jam_are_fitted) {
  double d[6][8] = {{4.0388002983601291e-14, -1.6361741658609905e-07, 1.8495064472197881e-08,
                     1.5533142973421832e-07, -3.0541831927759362e-08, 1.3900510044859279e-07,
                     -8.8865348413236234e-10, 6594.9014555520871},
                    {-1.6361741658609905e-07, 4.3791377622375851, -0.50916975325742564, 0.18386900011490942,
                     0.80327786531496359, 0.62083489959679705, 0.001896090790177829, 3.3146568735301116},
                    {1.8495064472197881e-08, -0.50916975325742564, 0.40939139607247887, -0.17556378807159922,
                     0.25679089607093653, -0.22637055062496303, -0.012301287302050101, 0.025950266979766372},
                    {1.5533142973421832e-07, 0.18386900011490942, -0.17556378807159922, 1.5273690288315964,
                     -0.12045745768424029, 1.5457161111542743, -0.001073189731046531, 0.00058021462601203649},
                    {-3.0541831927759362e-08, 0.80327786531496359, 0.25679089607093653, -0.12045745768424029,
                     0.49753695080673555, -0.040303541375719315, -0.011696329612591733, 0},
                    {1.3900510044859279e-07, 0.62083489959679705, -0.22637055062496303, 1.5457161111542743,
                     -0.040303541375719315, 1.6076652009215526, -0.00088399564887605558, 0}};
  solve_jam(d, 1);
}

/* mu = 2.5e6 in its own units. In pairs the sum for u_T has terms of 0.04 that cancel, whose last bit is
   coarser than what the judge may leave: 378 us of fallbacks. */
TEST(sum_that_cancels_keeps_its_last_bits) {
  double d[6][8] = {
      {8.840114910363333e-14, 6.209075071706086e-07, -7.24684800205944e-08, 4.260835037321176e-08,
       1.1426162386873068e-07, 1.0504674774881877e-07, 2.5409216286576e-10, 6012.844868979416},
      {6.209075071706086e-07, 4.379090290881649, -0.5106218108254044, 0.18281417565230207, 0.8063343939154799,
       0.6231750668065805, 0.002372061708198402, 2.8899628058416056},
      {-7.24684800205944e-08, -0.5106218108254044, 0.40985390853513526, -0.17616183054944562,
       0.25629084577421, -0.22750990602434357, -0.011141960171821522, 0.03057179815127104},
      {4.260835037321176e-08, 0.18281417565230207, -0.17616183054944562, 1.526203387761121,
       -0.12118289547450034, 1.5445871167709408, -0.0014237171751408243, -0.0007687317421126077},
      {1.1426162386873068e-07, 0.8063343939154799, 0.25629084577421, -0.12118289547450034,
       0.49878576081222836, -0.04009798386565508, -0.010337233725773623, 0.0},
      {1.0504674774881877e-07, 0.6231750668065805, -0.22750990602434357, 1.5445871167709408,
       -0.04009798386565508, 1.6072534939056426, -0.0011851937590606249, 0.0}};
  solve_jam(d, 1);
}

/* From one that sticks to one that slips: pivots went in circles and all modes were tried, 51 factors. */
TEST(usual_modes_of_a_jam_come_before_all_modes) {
  double d[6][8] = {{1.5746674718917524e-11, 4.5600741076951624e-06, -4.2956716496829025e-07,
                     -2.6311976012143523e-06, 7.201782609756963e-07, -2.320037269985534e-06,
                     1.4790964922073434e-08, 0.01852033091514619},
                    {4.5600741076951624e-06, 4.385736785678945, -0.42799434755449056, 0.2353213082135322,
                     0.6777966294089369, 0.5345861036265576, 0.0031775262007573174, -0.009249773940198625},
                    {-4.2956716496829025e-07, -0.42799434755449056, 0.37563584044042564, -0.15819622156677543,
                     0.2677241025379607, -0.18740082339971847, -0.005014111544908023, 0.0},
                    {-2.6311976012143523e-06, 0.2353213082135322, -0.15819622156677543, 1.565911747931133,
                     -0.09886321687549161, 1.58196929835495, -0.0015139979730351542, 0.0},
                    {7.201782609756963e-07, 0.6777966294089369, 0.2677241025379607, -0.09886321687549161,
                     0.4386192663009229, -0.05261315130304932, -0.004569646734989108, 0.054891099211031365},
                    {-2.320037269985534e-06, 0.5345861036265576, -0.18740082339971847, 1.58196929835495,
                     -0.05261315130304932, 1.6184474581655806, -0.001297136647329646, 0.005627308998108613}};
  solve_jam(d, 20);
}

/* The stiff one carries alone and sticks: u_T is a multiple of the last bit of two terms that cancel, 2.5e-10
   where the judge takes 1e-10. All modes and then the fallbacks were tried, 172 us. */
TEST(stiff_contact_that_carries_alone_is_fitted_by_an_open_one) {
  double d[6][8] = {{1.3703555991490862e-13, -6.790596577867717e-07, 8.781903188384617e-08,
                     1.355281983946432e-07, -1.2085589067738062e-07, 6.382781799249895e-08,
                     -9.850402934441505e-10, 0.0143075851112976},
                    {-6.790596577867717e-07, 4.375274182269751, -0.5344770188792667, 0.16513525400084844,
                     0.8100440760710108, 0.627110623421997, 0.0005467652801349422, 0.0071533287899654754},
                    {8.781903188384617e-08, -0.5344770188792667, 0.42241780376000215, -0.17029633127408833,
                     0.25817309292139645, -0.2267305601454136, 0.0007199542315433037, 0.05940978382840218},
                    {1.355281983946432e-07, 0.16513525400084844, -0.17029633127408833, 1.527732119155617,
                     -0.11955024436370071, 1.545168398378559, -0.0005254946173630769, 0.006518275727709041},
                    {-1.2085589067738062e-07, 0.8100440760710108, 0.25817309292139645, -0.11955024436370071,
                     0.5070995113555409, -0.034019512032992236, 0.0008512028325854369, 0.0},
                    {6.382781799249895e-08, 0.627110623421997, -0.2267305601454136, 1.545168398378559,
                     -0.034019512032992236, 1.6113836187743016, -0.0004677631752540278, 0.0}};
  solve_jam(d, 30);
}
