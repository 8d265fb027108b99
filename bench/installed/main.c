/* Which peers are installed, and do they compile, link and answer? Each gets one question with a known
   answer; a wrong one fails. */
#include <math.h>

#include "bench.h"
#include "peer.h"

static double answered;

static void ask(void* context) {
  const installed_peer* p = (const installed_peer*)context;
  answered = p->answer();
}

int main(int argc, char** argv) {
  static const char* const names[] = {"mujoco",  "pinocchio", "bullet", "dart", "ode",
                                      "siconos", "fclib",     "fcl",    "ccd"};
  kn_bench* b = kn_bench_open("installed", "a question with a known answer for every peer", argc, argv);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (!kn_bench_row(b, "%s", names[i])) continue;
    const installed_peer* p = (const installed_peer*)kn_bench_load_peer(b, names[i]);
    if (!p) continue;
    kn_bench_peer(b, names[i], ask, (void*)(size_t)p);
    kn_bench_measure(b);
    kn_bench_number(b, "answer", answered);
    kn_bench_number(b, "expected", p->expected);
    kn_bench_text(b, "question", p->question);
    if (!(fabs(answered - p->expected) <= 1e-10 * fabs(p->expected)))
      kn_bench_fail(b, "%s answered %.9g, expected %.9g", names[i], answered, p->expected);
  }
  return kn_bench_close(b);
}
