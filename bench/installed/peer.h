/* One small question to each peer whose answer is known. */
#ifndef KN_BENCH_INSTALLED_PEER_H
#define KN_BENCH_INSTALLED_PEER_H

typedef struct installed_peer {
  const char* question;
  double expected;
  double (*answer)(void);
} installed_peer;

#endif
