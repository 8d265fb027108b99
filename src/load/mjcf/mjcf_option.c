/* <compiler> and <option>. */
#include <string.h>

#include "base/error.h"
#include "load/mjcf/mjcf.h"

static kn_status get_eulerseq(kn_mj_compiler* c, const kn_xml_node* node) {
  const kn_xml_attr* a = kn_xml_find(node, "eulerseq");
  if (!a) return KN_OK;
  if (strlen(a->value) != 3 || strspn(a->value, "xyzXYZ") != 3)
    return kn_xml_fail_at(
        a, "eulerseq is \"%.20s\", expected three letters of xyz (moving axes) or XYZ (fixed axes)",
        a->value);
  memcpy(c->eulerseq, a->value, 4);
  return KN_OK;
}

static void get_directories(kn_mj_compiler* c, const kn_xml_node* node) {
  const kn_xml_attr *asset = kn_xml_find(node, "assetdir"), *mesh = kn_xml_find(node, "meshdir"),
                    *texture = kn_xml_find(node, "texturedir");
  if (asset) c->meshdir = c->texturedir = asset->value;
  if (mesh) c->meshdir = mesh->value;
  if (texture) c->texturedir = texture->value;
}

static kn_status get_inertia(kn_mj_loader* l, kn_mj_compiler* c, const kn_xml_node* node) {
  const kn_xml_attr* old = kn_xml_find(node, "exactmeshinertia");
  int k = (int)c->inertiafromgeom;
  KN_TRY(kn_value_keyword(&k, kn_xml_find(node, "inertiafromgeom"), "false|true|auto"));
  c->inertiafromgeom = (kn_mj_from_geom)k;
  KN_TRY(kn_value_ints(c->inertiagrouprange, NULL, kn_xml_find(node, "inertiagrouprange"), 2, 2));
  KN_TRY(kn_value_real(&c->settotalmass, kn_xml_find(node, "settotalmass")));
  if (old)
    KN_TRY(
        kn_note_attr(l->report, KN_NOTE_UNSUPPORTED, old,
                     "exactmeshinertia is an old attribute and has no effect; use <mesh inertia=\"exact\">"));
  KN_TRY(kn_value_bound(&c->boundmass, kn_xml_find(node, "boundmass")));
  return kn_value_bound(&c->boundinertia, kn_xml_find(node, "boundinertia"));
}

static kn_status read_compiler(kn_mj_loader* l, kn_mj_compiler* c, const kn_xml_node* node) {
  const kn_xml_attr* a = kn_xml_find(node, "coordinate");
  int global = 0, degree = c->degree;
  KN_TRY(kn_value_keyword(&global, a, "local|global"));
  if (global) return kn_xml_fail_at(a, "coordinate=\"global\" is no longer part of MJCF, expected \"local\"");
  KN_TRY(kn_value_keyword(&degree, kn_xml_find(node, "angle"), "radian|degree"));
  c->degree = degree == 1;
  static const char* const names[] = {"autolimits",    "strippath", "fitaabb",
                                      "discardvisual", "alignfree", "balanceinertia"};
  bool* flag[] = {&c->autolimits,    &c->strippath, &c->fitaabb,
                  &c->discardvisual, &c->alignfree, &c->balanceinertia};
  for (int i = 0; i < 6; i++) KN_TRY(kn_value_bool(flag[i], kn_xml_find(node, names[i])));
  KN_TRY(get_eulerseq(c, node));
  get_directories(c, node);
  return get_inertia(l, c, node);
}

kn_status kn_mj_compiler_read(kn_mj_loader* l, kn_mj_document* d) {
  d->compiler = (kn_mj_compiler){.autolimits = true,
                                 .degree = true,
                                 .eulerseq = "xyz",
                                 .meshdir = "",
                                 .texturedir = "",
                                 .settotalmass = -1.0,
                                 .inertiafromgeom = KN_MJ_FROM_GEOM_AUTO,
                                 .inertiagrouprange = {0, 5}};
  for (const kn_xml_node* k = d->root->child; k; k = k->next)
    if (kn_xml_is(k, "compiler")) KN_TRY(read_compiler(l, &d->compiler, k));
  return KN_OK;
}

kn_status kn_mj_option_read(kn_mj_loader* l, const kn_mj_document* d) {
  l->report->timestep = 0.002; /* MuJoCo's own where the file says nothing */
  for (const kn_xml_node* k = d->root->child; k; k = k->next) {
    if (!kn_xml_is(k, "option")) continue;
    const kn_xml_attr* step = kn_xml_find(k, "timestep");
    KN_TRY(kn_value_reals(l->gravity, NULL, kn_xml_find(k, "gravity"), 3, 3));
    KN_TRY(kn_value_reals(l->magnetic, NULL, kn_xml_find(k, "magnetic"), 3, 3));
    KN_TRY(kn_value_real(&l->report->timestep, step));
    if (!(l->report->timestep > 0.0))
      return kn_xml_fail_at(step, "timestep is %g, expected a positive number of seconds",
                            l->report->timestep);
    for (const kn_xml_node* f = k->child; f; f = f->next) KN_TRY(kn_mj_flags_read(l, f));
  }
  return KN_OK;
}
