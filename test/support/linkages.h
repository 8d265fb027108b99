/* Mechanisms with loops as pieces of MJCF texts: a planar four-bar linkage, one of whose closing rows follows from the others, and two hinges that
   are coupled. */
#pragma once

#define KN_LINKAGES_BODIES                                                                                   \
  "<body name='crank' pos='-2 0 2'><joint axis='0 1 0'/><geom type='capsule' fromto='0 0 0 0 0 -.3' "        \
  "size='.03'/>"                                                                                             \
  "<body name='rod' pos='0 0 -.3'><joint axis='0 1 0'/><geom type='capsule' fromto='0 0 0 .6 0 0' "          \
  "size='.03'/>"                                                                                             \
  "</body></body>"                                                                                           \
  "<body name='rocker' pos='-1.4 0 2'><joint axis='0 1 0'/><geom type='capsule' fromto='0 0 0 0 0 -.3' "     \
  "size='.03'/>"                                                                                             \
  "</body>"                                                                                                  \
  "<body name='c1' pos='-4 0 2'><joint name='c1' axis='0 1 0'/><geom type='capsule' fromto='0 0 0 .3 0 0' "  \
  "size='.03'/>"                                                                                             \
  "</body>"                                                                                                  \
  "<body name='c2' pos='-4 1 2'><joint name='c2' axis='0 1 0'/><geom type='capsule' fromto='0 0 0 .2 0 0' "  \
  "size='.03'/>"                                                                                             \
  "</body>"
#define KN_LINKAGES_APART "<exclude body1='crank' body2='rod'/><exclude body1='rod' body2='rocker'/>"
#define KN_LINKAGES_LOOPS                                                                                    \
  "<connect body1='rod' body2='rocker' anchor='.6 0 0'/><joint joint1='c1' joint2='c2' polycoef='0 .5 0 0 "  \
  "0'/>"
