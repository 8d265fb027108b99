/* <compiler> and <option>. */
#include <string.h>

#include "base/error.h"
#include "load/mjcf/mjcf.h"

static kn_status get_bool(bool* out, const kn_xml_node* node, const char* name) {
  const kn_xml_attr* a = kn_xml_find(node, name);
  return a ? kn_value_bool(out, a) : KN_OK;
}

static kn_status get_bound(double* out, const kn_xml_node* node, const char* name) {
  const kn_xml_attr* a = kn_xml_find(node, name);
  if (!a) return KN_OK;
  KN_TRY(kn_value_reals(out, NULL, a, 1, 1));
  if (*out < 0.0) return kn_xml_fail_at(a, "\"%s\" is %g, expected a number >= 0", name, *out);
  return KN_OK;
}

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

static kn_status get_directories(kn_mj_compiler* c, const kn_xml_node* node) {
  const kn_xml_attr *asset = kn_xml_find(node, "assetdir"), *mesh = kn_xml_find(node, "meshdir"),
                    *texture = kn_xml_find(node, "texturedir");
  if (asset) c->meshdir = c->texturedir = asset->value;
  if (mesh) c->meshdir = mesh->value;
  if (texture) c->texturedir = texture->value;
  return KN_OK;
}

static kn_status get_inertia(kn_mj_loader* l, kn_mj_compiler* c, const kn_xml_node* node) {
  const kn_xml_attr* a = kn_xml_find(node, "inertiafromgeom");
  int k;
  if (a) {
    KN_TRY(kn_value_keyword(&k, a, "false|true|auto"));
    c->inertiafromgeom = (kn_mj_from_geom)k;
  }
  a = kn_xml_find(node, "inertiagrouprange");
  if (a) KN_TRY(kn_value_ints(c->inertiagrouprange, NULL, a, 2, 2));
  a = kn_xml_find(node, "settotalmass");
  if (a) KN_TRY(kn_value_reals(&c->settotalmass, NULL, a, 1, 1));
  a = kn_xml_find(node, "exactmeshinertia");
  if (a)
    KN_TRY(
        kn_note_attr(l->report, KN_NOTE_UNSUPPORTED, a,
                     "exactmeshinertia is an old attribute and has no effect; use <mesh inertia=\"exact\">"));
  KN_TRY(get_bound(&c->boundmass, node, "boundmass"));
  KN_TRY(get_bound(&c->boundinertia, node, "boundinertia"));
  return get_bool(&c->balanceinertia, node, "balanceinertia");
}

static kn_status read_compiler(kn_mj_loader* l, kn_mj_compiler* c, const kn_xml_node* node) {
  const kn_xml_attr* a = kn_xml_find(node, "coordinate");
  int k = 0;
  if (a) KN_TRY(kn_value_keyword(&k, a, "local|global"));
  if (k == 1) return kn_xml_fail_at(a, "coordinate=\"global\" is no longer part of MJCF, expected \"local\"");
  a = kn_xml_find(node, "angle");
  if (a) {
    KN_TRY(kn_value_keyword(&k, a, "radian|degree"));
    c->degree = k == 1;
  }
  KN_TRY(get_bool(&c->autolimits, node, "autolimits"));
  KN_TRY(get_bool(&c->strippath, node, "strippath"));
  KN_TRY(get_bool(&c->fitaabb, node, "fitaabb"));
  KN_TRY(get_bool(&c->discardvisual, node, "discardvisual"));
  KN_TRY(get_bool(&c->alignfree, node, "alignfree"));
  KN_TRY(get_eulerseq(c, node));
  KN_TRY(get_directories(c, node));
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
    const kn_xml_attr* a = kn_xml_find(k, "gravity");
    if (a) KN_TRY(kn_value_reals(l->gravity, NULL, a, 3, 3));
    a = kn_xml_find(k, "magnetic");
    if (a) KN_TRY(kn_value_reals(l->magnetic, NULL, a, 3, 3));
    a = kn_xml_find(k, "timestep");
    if (a) {
      KN_TRY(kn_value_reals(&l->report->timestep, NULL, a, 1, 1));
      if (!(l->report->timestep > 0.0))
        return kn_xml_fail_at(a, "timestep is %g, expected a positive number of seconds",
                              l->report->timestep);
    }
    for (const kn_xml_node* f = k->child; f; f = f->next) KN_TRY(kn_mj_flags_read(l, f));
  }
  return KN_OK;
}
