set(PEERS_mujoco mujoco)
