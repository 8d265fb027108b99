/* The engine in the page, and behind the page where a run is simulated natively (cli/view_native.c). One module instance holds one world: a subject that is simulated (a scene or a
   model file, opened by the same code as the command line) or a recording that is read. The page calls the
   functions marked KW and reads the numbers in place; texts are UTF-8 and end with 0. Nothing here computes
   mechanics. */
#ifndef KN_ENGINE_WORLD_H
#define KN_ENGINE_WORLD_H

#include "knuckle/record.h"
#include "subject.h"

#ifdef __wasm__
#define KW(type, name) __attribute__((export_name(#name))) type name
#else
#define KW(type, name) type name
#endif

typedef struct kw_world {
  char* words; /* the command line, kept: settings point into it */
  kn_args args;
  bool open;
  kn_subject subject;
  kn_sim* sim;
  kn_recording* recording; /* instead of subject and sim */
  const kn_model* model;   /* of either */
  kn_data* data;           /* of the pose that is shown */
  kn_state* shown;         /* the same */
  double* jacobian;        /* 6 x nv, of a body that is dragged */
  int64_t step;            /* number of the last step */
  double step_time;        /* how long it took on this machine, s */
} kw_world;

extern kw_world kw;

/* A body pulled by a spring towards a point (drag.c). */
void kw_drag_apply(void);

/* row.c: the numbers of the last step (or of the first state), into the arrays that kw_row() … point to. */
kn_status kw_row_create(void);
void kw_row_free(void);
void kw_row_first(void);
void kw_row_report(const kn_report* report);
void kw_row_recorded(const kn_recorded* step);

/* What cli/view_native.c calls too; said at their definitions. */
int kw_open(const char* line);
void kw_close(void);
int kw_step(void);
int kw_save_size(void);
int kw_save(void* bytes, int size);
double* kw_row(void);
int kw_row_size(void);
double* kw_row_q(void);
double* kw_row_v(void);
double* kw_row_ctrl(void);
double* kw_row_contact(void);
int kw_row_contacts(void);
int kw_contact_size(void);
double* kw_row_event(void);
int kw_row_events(void);
int kw_event_size(void);
const char* kw_row_event_text(int i);

/* A text for the page; the last one is freed. */
const char* kw_text_keep(char* text);

#endif
