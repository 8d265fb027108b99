/* Adaptive explicit Runge-Kutta by SUNDIALS ARKODE, restarted at every call so that kn_state stays complete.
   Unknown: (u, v) with q = q0 (+) u, hence no drift off the unit quaternions. */
#ifdef KN_HAVE_SUNDIALS
#include <arkode/arkode_erkstep.h>
#include <nvector/nvector_serial.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/foreign.h"
#include "dynamics/tree/data.h"

typedef struct adaptive {
  SUNContext context;
  N_Vector y;
  void* ark;
  const kn_integrand* smooth;
  kn_status status; /* of the last right-hand side */
} adaptive;

static int rate(sunrealtype t, N_Vector y, N_Vector dy, void* context) {
  adaptive* a = context;
  const kn_integrand* s = a->smooth;
  size_t nv = (size_t)s->model->nv;
  double *u = N_VGetArrayPointer(y), *du = N_VGetArrayPointer(dy), *q = s->data->rkq;
  KN_WRITTEN_ELSEWHERE(u, 2 * nv * sizeof(double));
  kn_dyn_integrate(q, s->model, s->state->q, u, 1.0);
  kn_dyn_increment_rate(du, s->model, u, u + nv);
  a->status = kn_smooth_acceleration(du + nv, s, t, q, u + nv);
  return a->status == KN_OK ? 0 : a->status == KN_NOT_FINITE ? 1 : -1; /* positive: try a smaller step */
}

void kn_adaptive_destroy(kn_data* data) {
  adaptive* a = data->ark;
  if (!a) return;
  if (a->ark) ERKStepFree(&a->ark);
  if (a->y) N_VDestroy(a->y);
  if (a->context) SUNContext_Free(&a->context);
  free(a);
  data->ark = NULL;
}

/* The only memory made after kn_data_create: on the first adaptive step. */
static kn_status create(kn_data* data, const kn_model* m) {
  adaptive* a = data->ark = calloc(1, sizeof *a);
  if (!a) return kn_fail(KN_OUT_OF_MEMORY, "adaptive integrator");
  bool ok = SUNContext_Create(NULL, &a->context) == 0;
  ok = ok && (a->y = N_VNew_Serial(2 * (sunindextype)m->nv, a->context)) != NULL;
  ok = ok && (N_VConst(0.0, a->y), a->ark = ERKStepCreate(rate, 0.0, a->y, a->context)) != NULL;
  ok = ok && ERKStepSetErrHandlerFn(a->ark, NULL, NULL) == 0 && ERKStepSetUserData(a->ark, a) == 0;
  ok = ok && ERKStepSetTableNum(a->ark, ARKODE_VERNER_8_5_6) == 0;
  ok = ok && ERKStepSetMaxNumSteps(a->ark, 100000) == 0;
  if (ok) return KN_OK;
  kn_adaptive_destroy(data);
  return kn_fail(KN_OUT_OF_MEMORY, "adaptive integrator");
}

kn_status kn_adaptive_step(const kn_integrand* s, double dt, const kn_integrate_settings* set) {
  size_t nv = (size_t)s->model->nv;
  if (nv == 0 || dt == 0.0) return KN_OK;
  KN_REQUIRE(set->rtol > 0.0 && set->atol > 0.0);
  if (!s->data->ark) KN_TRY(create(s->data, s->model));
  adaptive* a = s->data->ark;
  double *y = N_VGetArrayPointer(a->y), t0 = s->state->time, t1 = t0 + dt, t = t0;
  memset(y, 0, sizeof(double) * nv);
  memcpy(y + nv, s->state->v, sizeof(double) * nv);
  a->smooth = s;
  int rc = ERKStepReInit(a->ark, rate, t0, a->y);
  if (rc == 0) rc = ERKStepSStolerances(a->ark, set->rtol, set->atol);
  if (rc == 0) rc = ERKStepSetStopTime(a->ark, t1);
  if (rc == 0) rc = ERKStepEvolve(a->ark, t1, a->y, &t, ARK_NORMAL);
  if (rc < 0) {
    if (a->status != KN_OK) return a->status;
    return kn_fail(KN_NOT_CONVERGED, "adaptive integrator stopped at t = %g of %g (code %d)", t, t1, rc);
  }
  kn_dyn_integrate(s->state->q, s->model, s->state->q, y, 1.0);
  memcpy(s->state->v, y + nv, sizeof(double) * nv);
  return KN_OK;
}

#else

#include "base/error.h"
#include "dynamics/tree/data.h"

kn_status kn_adaptive_step(const kn_integrand* s, double dt, const kn_integrate_settings* set) {
  (void)s, (void)dt, (void)set;
  return kn_fail(KN_UNSUPPORTED, "adaptive integrator: built without SUNDIALS (KN_SUNDIALS)");
}

void kn_adaptive_destroy(kn_data* data) { (void)data; }

#endif
