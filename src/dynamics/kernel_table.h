/* The table of one variant; included after the kernels. */
const kn_dyn_table KN_NAME(kn_dyn) = {.position = position,
                                      .velocity = velocity,
                                      .scratch_velocity = scratch_velocity,
                                      .factor = factor,
                                      .forward = forward,
                                      .energy = energy,
                                      .accelerate = accelerate,
                                      .inverse = inverse,
                                      .solve = solve,
                                      .forward_half = forward_half,
                                      .bias_acceleration = bias_acceleration,
                                      .push = push,
                                      .lambda = lambda};
