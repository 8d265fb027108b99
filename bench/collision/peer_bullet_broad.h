/* One of Bullet's broad phases as a peer. The including file defines `world` (broad, dispatcher, proxy,
   client), made from the number of boxes. Pairs of its fattened boxes are what `update` leaves; `filtered`
   keeps those whose boxes overlap, which is the job here. */
#ifndef KN_PEER_BULLET_BROAD_H
#define KN_PEER_BULLET_BROAD_H

namespace {
btVector3 lo(const double* b) { return btVector3(b[0], b[1], b[2]); }
btVector3 hi(const double* b) { return btVector3(b[3], b[4], b[5]); }

void* create(int n, const double* boxes) {
  world* w = new world(n);
  w->client.resize(n);
  for (int i = 0; i < n; i++)
    w->proxy.push_back(
        w->broad.createProxy(lo(boxes + 6 * i), hi(boxes + 6 * i), 0, &w->client[i], 1, 1, &w->dispatcher));
  return w;
}

int update(void* self, const double* boxes) {
  world* w = static_cast<world*>(self);
  for (size_t i = 0; i < w->proxy.size(); i++)
    w->broad.setAabb(w->proxy[i], lo(boxes + 6 * i), hi(boxes + 6 * i), &w->dispatcher);
  w->broad.calculateOverlappingPairs(&w->dispatcher);
  return w->broad.getOverlappingPairCache()->getNumOverlappingPairs();
}

bool meets(const btBroadphaseProxy* a, const btBroadphaseProxy* b) {
  return TestAabbAgainstAabb2(a->m_aabbMin, a->m_aabbMax, b->m_aabbMin, b->m_aabbMax);
}

int filtered(void* self, const double* boxes) {
  world* w = static_cast<world*>(self);
  update(self, boxes);
  const btBroadphasePairArray& pairs = w->broad.getOverlappingPairCache()->getOverlappingPairArray();
  int count = 0;
  for (int i = 0; i < pairs.size(); i++) count += meets(pairs[i].m_pProxy0, pairs[i].m_pProxy1);
  return count;
}

void destroy(void* self) {
  world* w = static_cast<world*>(self);
  for (btBroadphaseProxy* p : w->proxy) w->broad.destroyProxy(p, &w->dispatcher);
  delete w;
}
} // namespace

#endif
