/* Troubles: what a step could not do as it should, each kind with its own name, unit, meaning and advice. A
   step raises a kind at most once, with its worst value; the event (step.h) says when, where, how much and
   what would have been allowed. The state is valid all the same. docs/troubles.md is this table. */
#ifndef KNUCKLE_TROUBLE_H
#define KNUCKLE_TROUBLE_H

#include <stdbool.h>

#include "knuckle/types.h"

KN_BEGIN_DECLS

/* X(NAME, "name", "unit of value and limit", "what it means", "what to do"). The order is the one of
   recordings: add at the end. */
#define KN_TROUBLE_LIST(X)                                                                                    \
  X(RESIDUAL, "residual", "of the problem's scale",                                                           \
    "The contact solver stopped before the contact law was met to its tolerance.",                            \
    "Take a smaller --dt or another --solver; look at the bodies named for masses or sizes that differ by "   \
    "many orders of magnitude.")                                                                              \
  X(OVERLAP, "overlap", "m or rad",                                                                           \
    "Bodies still overlap, or a joint is still beyond its limit, after the position repair: what must be "    \
    "kept apart contradicts itself.",                                                                         \
    "Look at the bodies named: shapes that overlap in the model, limits that a contact pushes against; "      \
    "take such pairs out of contact or correct the model.")                                                   \
  X(LOOP_OPEN, "loop-open", "m or rad",                                                                       \
    "A closed loop of the mechanism could not be closed: its equations contradict each other, a limit or "    \
    "a contact.",                                                                                             \
    "Check the loop's anchors and axes in the model file, and whether limits or contacts leave it room to "   \
    "close.")                                                                                                 \
  X(CUT_SHORT, "cut-short", "m or rad",                                                                       \
    "The position repair found no way out of an overlap, so the bodies named did not go all the way of "      \
    "their step; the value is the overlap they would have had.",                                              \
    "Take a smaller --dt; look for bodies squeezed between others and for meshes with sharp edges.")          \
  X(START_REPAIRED, "start-repaired", "J",                                                                    \
    "The starting position breaks a joint limit, opens a loop or overlaps (with the floor, say); the first "  \
    "step moved the mechanism to the nearest position that is allowed, which raised its energy.",             \
    "Start from another keyframe (--keyframe NAME), higher above the floor (--drop 0.1) or from "             \
    "coordinates "                                                                                            \
    "within the limits: `knuckle study init MODEL` writes a file with them (initial: q).")                    \
  X(IMPACT_LIMIT, "impact-limit", "impacts",                                                                  \
    "Impacts of several contacts did not come to an end within the step; the rest was taken all at once.",    \
    "Raise event_limit (kn_sim_settings), or use --law poisson or newton.")                                   \
  X(LAW_NOT_COVERED, "law-not-covered", "contacts",                                                           \
    "The impact law that was asked for does not cover contacts that collide together; `poisson` was used "    \
    "for them.",                                                                                              \
    "Use --law poisson or newton, or sequential impacts.")                                                    \
  X(INTEGRATION_ENERGY, "integration-energy", "J",                                                            \
    "The step is far too long for a motion this fast: the integrator would have added energy, which was "     \
    "taken from the velocities; the value is all of it so far.",                                              \
    "Take a smaller --dt; look for light bodies on long levers, high speeds, joints near a singular "         \
    "position.")                                                                                              \
  X(CORRECTION_ENERGY, "correction-energy", "J",                                                              \
    "Repairs of positions (overlaps, loops, limits) added energy, which was taken from the velocities; the "  \
    "value is all of it so far.",                                                                             \
    "Take a smaller --dt; look for bodies that overlap at the start or that others squeeze.")                 \
  X(ENERGY_RISE, "energy-rise", "J",                                                                          \
    "The total energy less the work that went in rose this far above its lowest value so far: the run "       \
    "creates energy.",                                                                                        \
    "Take a smaller --dt, or --keep-energy when the integration is the cause; the energy column says which "  \
    "part it comes from.")                                                                                    \
  X(EVENT_LIMIT, "event-limit", "events",                                                                     \
    "Too many impacts and changes of contact in one step of the event stepper; `time` took the step.",        \
    "Take a smaller --dt, or raise event_limit.")                                                             \
  X(EVENT_MODES, "event-modes", "rounds",                                                                     \
    "No combination of sticking, sliding and opening contacts was found (Painlevé's paradox is one cause); " \
    "`time` took the step.",                                                                                  \
    "Ask `knuckle diagnose` for the instant; --stepper hybrid or time goes through such states.")             \
  X(EVENT_ROWS, "event-rows", "rows",                                                                         \
    "More contacts hang together than the event stepper can hold at once; `time` took the step.",             \
    "Use --stepper time for heaps.")                                                                          \
  X(EVENT_ERROR, "event-error", "of the tolerance",                                                           \
    "The motion between two events could not be integrated to --rtol; `time` took the step.",                 \
    "Take a larger --rtol or a smaller --dt; look for very stiff springs or servos.")                         \
  X(EVENT_EVALUATIONS, "event-evaluations", "evaluations",                                                    \
    "The motion between events asked for too many evaluations in one step; `time` took the step.",            \
    "Take a smaller --dt or a larger --rtol; look for very stiff springs or servos.")                         \
  X(EVENT_STALLED, "event-stalled", "sub-steps",                                                              \
    "The event stepper no longer advanced: its sub-steps became too short; `time` took the step.",            \
    "Use --stepper time here; look for contacts that chatter.")                                               \
  X(EVENT_OVERFLOW, "event-overflow", "evaluations",                                                          \
    "Accelerations of the event stepper overflowed; `time` took the step.",                                   \
    "Use --stepper time here; look for masses, stiffnesses or speeds that differ by many powers of ten.")     \
  X(EVENT_OVERLAP, "event-overlap", "m or rad",                                                               \
    "The event stepper would have ended with an overlap; `time` took the step.",                              \
    "Take a smaller --dt; look at the bodies named.")                                                         \
  X(LIMIT_PUSHED, "limit-pushed", "rad or m",                                                                 \
    "A blow drove a joint this far beyond its range within one step; contacts and limits join a step's "      \
    "problem a few times at most, and this limit was not reached. The position repair took the joint back.",  \
    "Take a smaller --dt, so that the joint cannot cross its range within a step.")                           \
  X(LOOP_ENERGY, "loop-energy", "J",                                                                          \
    "Closed loops took energy from the motion, which loops that stand still cannot do: the mechanism "        \
    "locked, or "                                                                                             \
    "started with velocities its loops do not allow; the value is all of it so far.",                         \
    "Start with velocities that the loops allow; take a smaller --dt; look for positions in which the "       \
    "linkage is "                                                                                             \
    "stretched out or folded.")                                                                               \
  X(STOPPED, "stopped", "J",                                                                                  \
    "The step would have gained this much more energy than the motion had to give back: everything was "      \
    "brought to "                                                                                             \
    "rest, short of its way.",                                                                                \
    "Take a smaller --dt; look for bodies squeezed between others, for loops that contradict limits or "      \
    "contacts.")

/* Kinds of troubles. */
typedef enum kn_trouble_kind {
#define X(NAME, name, unit, meaning, advice) KN_TROUBLE_##NAME,
  KN_TROUBLE_LIST(X)
#undef X
      KN_TROUBLE_COUNT
} kn_trouble_kind;

/* Of a kind: its name, the unit of value and limit, one sentence each. "unknown" or "" for a wrong kind. */
KN_API const char* kn_trouble_name(kn_trouble_kind kind);
KN_API const char* kn_trouble_unit(kn_trouble_kind kind);
KN_API const char* kn_trouble_meaning(kn_trouble_kind kind);
KN_API const char* kn_trouble_advice(kn_trouble_kind kind);
/* The kind of this name; false: there is none. */
KN_API bool kn_trouble_find(kn_trouble_kind* kind, const char* name);

KN_END_DECLS
#endif
