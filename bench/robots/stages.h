/* Where a step of a robot goes: ten robots whose instructions are guarded (scripts/callgrind.sh), and the table
   of their stages (docs/performance.md). */
#ifndef KN_BENCH_ROBOTS_STAGES_H
#define KN_BENCH_ROBOTS_STAGES_H

/* `robots --count NAME`: the fixed steps of one robot once, for callgrind. Exit status; 77 when the models are
   not there. */
int robot_count(const char* name);
/* `robots --stages`: the table. */
int robot_stages(void);

#endif
