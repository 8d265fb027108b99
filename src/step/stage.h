/* The stages of a step: the table of docs/pipeline.md, which test/step/stages.c compares. A stage that can
   fail is entered through kn_stage_enter, so that a test can make it fail (test/step/stages.c): whatever
   fails, the state is left bit for bit as it was (commit.c takes everything back in one place). */
#pragma once

/* number, name, folder, what it does. */
#define KN_STAGES(X)                                                                                         \
  X(1, POSES, "dynamics", "q, v → poses, axes, body velocities")                                             \
  X(2, COLLIDE, "collide",                                                                                   \
    "poses + shapes → contacts {point, frame, gap, key, μ and e of the pair}, matched to the last step")     \
  X(3, FREE, "dynamics", "articulated bodies: free acceleration in O(N), factors kept for M⁻¹ products")     \
  X(4, ROWS, "step",                                                                                         \
    "the rows that take part: contacts, limits, dry joints, loops; their bias; who collides")                \
  X(5, PROBLEM, "contact + dynamics", "rows → Λ = J M⁻¹ Jᵀ, problem {matrix or operator, offset, sets}")     \
  X(6, SOLVE, "comp", "warm start by key → λ, each answer judged by its residual in the original data")      \
  X(7, JUDGE, "step + comp",                                                                                 \
    "verdict (unique / motion unique / several / none / undecided); what the rows did, for the report and "  \
    "the next step")                                                                                         \
  X(8, IMPACT, "contact + comp",                                                                             \
    "impacts: e at this approach speed; compression, then decompression with the same Λ")                    \
  X(9, MOVE, "step", "v⁺ = v_free + M⁻¹Jᵀλ in O(N); q⁺ by the joints' exponential")                          \
  X(10, COMMIT, "step",                                                                                      \
    "energy from nothing taken back, ledger and report closed; the step as a whole becomes the state")       \
  X(11, RECORD, "record", "observer: frame, hash")

typedef enum kn_stage {
#define X(number, name, folder, does) KN_STAGE_##name = number,
  KN_STAGES(X)
#undef X
} kn_stage;
