/* e of an impact on a contact K δⁿ (1 + c δ̇): what the compliant laws with names are tested against. */
#ifndef KN_TEST_REBOUND_H
#define KN_TEST_REBOUND_H

/* At this approach speed, whatever K, n and the mass. */
double kn_soft_restitution(double c, double speed);

#endif
