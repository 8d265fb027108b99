set(PEERS_problems fclib)
