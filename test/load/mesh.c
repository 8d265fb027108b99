/* Mesh readers: right geometry from good files, a clear error from every bad one, bounded time and memory. */
#include "test.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/rng.h"
#include "base/timer.h"
#include "knuckle/mesh.h"

/* A tetrahedron with corners 0, e1, e2, e3, facing out. */
static const double tetra_x[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
static const int32_t tetra_t[12] = {0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3};

static size_t tetra_binary(unsigned char* out, const char* head) {
  memset(out, 0, 84);
  memcpy(out, head, strlen(head));
  out[80] = 4;
  for (int i = 0; i < 4; i++) {
    unsigned char* f = out + 84 + 50 * i;
    memset(f, 0, 50);
    for (int c = 0; c < 3; c++)
      for (int k = 0; k < 3; k++) {
        float x = (float)tetra_x[3 * tetra_t[3 * i + c] + k];
        memcpy(f + 12 + 12 * c + 4 * k, &x, 4);
      }
  }
  return 284;
}

static size_t tetra_ascii(char* out, const char* number) {
  char* p = out + sprintf(out, "solid tetra\n");
  for (int i = 0; i < 4; i++) {
    p += sprintf(p, " facet normal 0 0 0\n  outer loop\n");
    for (int c = 0; c < 3; c++) {
      const double* x = tetra_x + 3 * tetra_t[3 * i + c];
      p += sprintf(p, "   vertex %g %g %s\n", x[0], x[1], x[2] > 0 ? number : "0");
    }
    p += sprintf(p, "  endloop\n endfacet\n");
  }
  return (size_t)(p + sprintf(p, "endsolid tetra\n") - out);
}

static void check_tetra(const kn_mesh_data* m) {
  kn_mesh_info info;
  CHECK_INT(m->nvertex, 4);
  CHECK_INT(m->ntriangle, 4);
  CHECK_OK(kn_mesh_data_inspect(&info, m));
  CHECK(info.closed);
  CHECK_NEAR(info.volume, 1.0 / 6, 1e-15); /* one rounding per term */
  CHECK_NEAR(info.area, 1.5 + 0.5 * sqrt(3), 1e-15);
}

TEST(stl_binary_also_when_it_begins_with_solid) {
  unsigned char bytes[400];
  const char* heads[] = {"a mesh", "solid ascii-looking head\n facet normal", "solid"};
  for (int i = 0; i < 3; i++) {
    kn_mesh_data m;
    size_t n = tetra_binary(bytes, heads[i]);
    if (!CHECK_OK(kn_mesh_data_read(&m, "x.STL", bytes, n))) continue;
    check_tetra(&m);
    kn_mesh_data_free(&m);
    /* bytes after the last facet are tolerated */
    memset(bytes + n, 0, 10);
    CHECK_OK(kn_mesh_data_read(&m, "x.stl", bytes, n + 10));
    kn_mesh_data_free(&m);
  }
}

TEST(stl_ascii) {
  char text[4096];
  const char* ones[] = {"1", "1.0", "+1e0", "10E-1", "0.1e+1", "1.000000000000000000000000000000", ".1e1"};
  for (size_t i = 0; i < sizeof ones / sizeof *ones; i++) {
    kn_mesh_data m;
    size_t n = tetra_ascii(text, ones[i]);
    if (!CHECK_OK(kn_mesh_data_read(&m, "x.stl", text, n))) continue;
    check_tetra(&m);
    kn_mesh_data_free(&m);
  }
}

TEST(obj_ngons_objects_negative_indices_continuation) {
  /* a unit cube: quads of two objects, one face by negative indices, one broken over two lines */
  const char* text =
      "# cube\nmtllib none.mtl\no lower\nv 0 0 0\nv 1 0 0\nv 1 1 0 0.5 0.5 0.5\nv 0 1 0\n"
      "f 1 4 3 2\n o upper\r\nv 0 0 1\nv 1 0 1\nv 1 1 1\nv 0 1 1\nvt 0 0\nvn 0 0 1\n"
      "f -4/1/1 -3/1/1 -2/1/1 -1/1/1\ng sides\nusemtl m\ns off\nf 1//1 2//1 6//1 5//1\nf 2/1 3/1 7/1 6/1\n"
      "f 3 4 \\\n 8 7\nf 4 1 5 8 # last\nl 1 2\n";
  kn_mesh_data m;
  kn_mesh_info info;
  if (!CHECK_OK(kn_mesh_data_read(&m, "cube.obj", text, strlen(text)))) return;
  CHECK_INT(m.nvertex, 8);
  CHECK_INT(m.ntriangle, 12);
  CHECK_OK(kn_mesh_data_inspect(&info, &m));
  CHECK(info.closed);
  CHECK_NEAR(info.volume, 1, 1e-15);
  kn_mesh_data_free(&m);
}

TEST(obj_concave_polygon_keeps_its_area) {
  /* an L and a 40-corner star; area by the shoelace formula */
  char text[8192], *p = text;
  double x[40], y[40], area = 0;
  for (int i = 0; i < 40; i++) {
    double r = i % 2 ? 1 : 0.3;
    x[i] = r * cos(i * M_PI / 20), y[i] = r * sin(i * M_PI / 20);
    p += sprintf(p, "v %.17g %.17g 2\n", x[i], y[i]);
  }
  for (int i = 0; i < 40; i++) area += 0.5 * (x[i] * y[(i + 1) % 40] - y[i] * x[(i + 1) % 40]);
  p += sprintf(p, "f");
  for (int i = 0; i < 40; i++) p += sprintf(p, " %d", i + 1);
  p += sprintf(p, "\n");
  kn_mesh_data m;
  kn_mesh_info info;
  if (!CHECK_OK(kn_mesh_data_read(&m, "star.obj", text, (size_t)(p - text)))) return;
  CHECK_INT(m.ntriangle, 38);
  CHECK_OK(kn_mesh_data_inspect(&info, &m));
  CHECK_NEAR(info.area, area, 1e-14);
  kn_mesh_data_free(&m);
}

static size_t tetra_msh(unsigned char* out) {
  const int32_t head[4] = {4, 1, 2, 4};
  memcpy(out, head, 16);
  for (int i = 0; i < 12; i++) {
    float x = (float)tetra_x[i];
    memcpy(out + 16 + 4 * i, &x, 4);
  }
  memset(out + 64, 0x7f, 12 + 16); /* a normal and two texture coordinates: passed over */
  memcpy(out + 92, tetra_t, 48);
  return 140;
}

TEST(msh_of_mujoco) {
  unsigned char bytes[200];
  size_t n = tetra_msh(bytes);
  kn_mesh_data m;
  if (!CHECK_OK(kn_mesh_data_read(&m, "x.msh", bytes, n))) return;
  check_tetra(&m);
  kn_mesh_data_free(&m);
  /* every truncation, a byte too many, a vertex that is not there, a coordinate that is no number, negative counts */
  for (size_t i = 0; i <= n + 1; i++)
    if (i != n) CHECK_STATUS(kn_mesh_data_read(&m, "x.msh", bytes, i), KN_BAD_FILE);
  bytes[92] = 4;
  CHECK_STATUS(kn_mesh_data_read(&m, "x.msh", bytes, n), KN_BAD_FILE);
  CHECK_TEXT(kn_last_error(), "x.msh:92: a triangle names vertex 4, expected 0 to 3");
  tetra_msh(bytes);
  memset(bytes + 20, 0xff, 4);
  CHECK_STATUS(kn_mesh_data_read(&m, "x.msh", bytes, n), KN_BAD_FILE);
  CHECK_TEXT(kn_last_error(), "x.msh:20: coordinate is not finite");
  tetra_msh(bytes);
  memset(bytes, 0xff, 16);
  CHECK_STATUS(kn_mesh_data_read(&m, "x.msh", bytes, n), KN_BAD_FILE);
  CHECK_TEXT(kn_last_error(), "too many or negative");
}

typedef struct bad {
  const char *name, *text, *message;
} bad;

TEST(bad_text_names_the_line) {
  static const bad list[] = {
      {"e.stl", "", "e.stl:0: the file is empty"},
      {"e.obj", "", "e.obj:1: the file is empty"},
      {"n.obj", "# nothing\n", "no vertices"},
      {"a.obj", "v 0 0 0\nv 1 0\n", "a.obj:2: vertex with 2 of 3"},
      {"a.obj", "v 0 0 0\nv 1 0 nan\n", "a.obj:2: not a finite number: 'nan'"},
      {"a.obj", "v 0 0 inf\n", "a.obj:1"},
      {"a.obj", "v 0 0 1e999\n", "a.obj:1"},
      {"a.obj", "v 0 0 1e\n", "a.obj:1"},
      {"a.obj", "v 0 0 0x10\n", "a.obj:1"},
      {"a.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 4\n", "a.obj:4: vertex 4 of 3"},
      {"a.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 0\n", "a.obj:4: vertex 0 of 3"},
      {"a.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\n\nf -1 -2 -4\n", "a.obj:5: vertex -4 of 3"},
      {"a.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 99999999999\n", "a.obj:4: not a face corner"},
      {"a.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 x\n", "a.obj:4: not a face corner: 'x'"},
      {"a.obj", "v 0 0 0\nv 1 0 0\nf 1 2\n", "a.obj:3: face with 2 corners"},
      {"a.stl", "solid x\nendsolid x\n", "a.stl:3: no triangles"},
      {"a.stl", "solid x\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\n", "a.stl:5: file ends"},
      {"a.stl", "solid x\nfacet normal 0 0 1\nouter loop\nvertex 0 0\n", "a.stl:4: expected a finite number"},
      {"a.stl", "solid x\nfacet normal 0 0 1\nouter loop\nvertex 0 0 1e39\n",
       "a.stl:4: expected a number within"},
      {"a.stl", "solid x\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nendloop\nendfacet\n",
       "a.stl:6: facet with 1 corners"},
      {"a.stl", "solid x\ngarbage\n", "a.stl:2: expected 'facet'"},
      {"a.stl", "short", "truncated in the 84-byte head"},
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    kn_mesh_data m;
    CHECK_STATUS(kn_mesh_data_read(&m, list[i].name, list[i].text, strlen(list[i].text)), KN_BAD_FILE);
    CHECK_TEXT(kn_last_error(), list[i].message);
    CHECK(!m.vertices && !m.triangles && !m.nvertex);
  }
}

TEST(every_truncation_of_a_binary_stl_is_refused) {
  unsigned char bytes[400];
  size_t n = tetra_binary(bytes, "solid");
  for (size_t i = 0; i < n; i++) {
    kn_mesh_data m;
    CHECK_STATUS(kn_mesh_data_read(&m, "t.stl", bytes, i), KN_BAD_FILE);
  }
}

TEST(hostile_counts_need_no_memory) {
  unsigned char bytes[400];
  size_t n = tetra_binary(bytes, "x");
  memset(bytes + 80, 0xff, 4);
  kn_mesh_data m;
  CHECK_STATUS(kn_mesh_data_read(&m, "t.stl", bytes, n), KN_BAD_FILE);
  CHECK_TEXT(kn_last_error(), "4294967295 triangles");
  tetra_binary(bytes, "x");
  memset(bytes + 84 + 12 + 50, 0xff, 4); /* a NaN */
  CHECK_STATUS(kn_mesh_data_read(&m, "t.stl", bytes, n), KN_BAD_FILE);
  CHECK_TEXT(kn_last_error(), "t.stl:146");
}

/* Any damage must end in a status and, when it is KN_OK, in a valid mesh. */
static void check_valid_or_refused(const char* name, const void* bytes, size_t n) {
  kn_mesh_data m;
  kn_mesh_info info;
  if (kn_mesh_data_read(&m, name, bytes, n) != KN_OK) {
    CHECK(!m.vertices);
    return;
  }
  CHECK_OK(kn_mesh_data_inspect(&info, &m));
  kn_mesh_data_free(&m);
}

TEST(random_damage_never_gives_an_invalid_mesh) {
  kn_rng rng = kn_rng_seed(11);
  char ascii[4096];
  unsigned char binary[400];
  const char* obj =
      "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1/1 4/2 3/3\nf -3 -2 -1\nf 1 2 3 4\n";
  size_t na = tetra_ascii(ascii, "1"), nb = tetra_binary(binary, "solid"), no = strlen(obj);
  for (int i = 0; i < 20000 * kn_test_effort(); i++) {
    unsigned char copy[4096];
    int which = kn_rng_int(&rng, 3);
    size_t n = which == 0 ? na : which == 1 ? nb : no;
    memcpy(copy, which == 0 ? (void*)ascii : which == 1 ? (void*)binary : (void*)(uintptr_t)obj, n);
    for (int k = kn_rng_int(&rng, 4) + 1; k-- > 0;) {
      size_t at = (size_t)kn_rng_int(&rng, (int)n);
      switch (kn_rng_int(&rng, 3)) {
      case 0: copy[at] = (unsigned char)kn_rng_int(&rng, 256); break;
      case 1: copy[at] = (unsigned char)"0123456789.-+eE/\\\n #vf"[kn_rng_int(&rng, 22)]; break;
      default: memmove(copy + at, copy + at + 1, n - at - 1), n--; break;
      }
    }
    check_valid_or_refused(which == 2 ? "d.obj" : "d.stl", copy, n);
  }
}

TEST(numbers_round_correctly) {
  kn_rng rng = kn_rng_seed(5);
  for (int i = 0; i < 20000; i++) {
    char text[200], word[64];
    double x = kn_rng_normal(&rng) * pow(10, kn_rng_range(&rng, -30, 30));
    snprintf(word, sizeof word, i % 3 ? "%.17g" : "%.6f", x);
    int n = snprintf(text, sizeof text, "v %s 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", word);
    kn_mesh_data m;
    if (!CHECK_OK(kn_mesh_data_read(&m, "n.obj", text, (size_t)n))) return;
    if (!CHECK(m.vertices[0] == strtod(word, NULL))) return;
    kn_mesh_data_free(&m);
  }
}

TEST(files_that_are_not_files) {
  kn_mesh_data m;
  CHECK_STATUS(kn_mesh_data_load(&m, "/nowhere/x.stl"), KN_NOT_FOUND);
  CHECK_STATUS(kn_mesh_data_load(&m, "/tmp"), KN_BAD_FILE);
  CHECK_STATUS(kn_mesh_data_load(&m, "/dev/zero"), KN_BAD_FILE);
  CHECK_STATUS(kn_mesh_data_load(NULL, "x"), KN_BAD_ARGUMENT);
  CHECK_STATUS(kn_mesh_data_load(&m, NULL), KN_BAD_ARGUMENT);
  CHECK(kn_mesh_data_read(&m, "noending", "abc", 3) != KN_OK);
}

TEST(two_million_triangles_in_seconds) {
  size_t n = 2000000, size = 84 + 50 * n;
  unsigned char* bytes = calloc(1, size);
  if (!CHECK(bytes)) return;
  uint32_t count = (uint32_t)n;
  memcpy(bytes + 80, &count, 4);
  for (size_t i = 0; i < n; i++) { /* a strip of a 1000-wide height field */
    float x = (float)(i / 2 % 1000), y = (float)(i / 2000);
    int up = i % 2;
    float v[9] = {x, y, 0, x + 1, y, 0, x, y + 1, 0};
    if (up) v[0] = x + 1, v[1] = y + 1, v[3] = x, v[4] = y + 1, v[6] = x + 1, v[7] = y;
    memcpy(bytes + 84 + 50 * i + 12, v, 36);
  }
  kn_mesh_data m;
  double start = kn_cpu_seconds();
  CHECK_OK(kn_mesh_data_read(&m, "big.stl", bytes, size));
  double seconds = kn_cpu_seconds() - start;
  CHECK_INT(m.ntriangle, n);
  CHECK_INT(m.nvertex, 1001 * 1001);
  CHECK(seconds < 20); /* about 0.5 s; linear, so a loaded machine still passes */
  kn_mesh_data_free(&m);
  free(bytes);
}

TEST(weld_with_tolerance_scale_and_transform) {
  kn_rng rng = kn_rng_seed(3);
  double x[36];
  int32_t t[12];
  for (int i = 0; i < 12; i++) {
    for (int k = 0; k < 3; k++) x[3 * i + k] = tetra_x[3 * tetra_t[i] + k] + kn_rng_range(&rng, -1e-9, 1e-9);
    t[i] = i;
  }
  kn_mesh_data m;
  kn_mesh_info info;
  CHECK_OK(kn_mesh_data_create(&m, x, 12, t, 4));
  CHECK_OK(kn_mesh_data_weld(&m, 1e-12));
  CHECK_INT(m.nvertex, 12);
  CHECK_OK(kn_mesh_data_weld(&m, 1e-8));
  CHECK_INT(m.nvertex, 4);
  CHECK_INT(m.ntriangle, 4);
  double s[3] = {2, -3, 1};
  CHECK_OK(kn_mesh_data_scale(&m, s));
  CHECK_OK(kn_mesh_data_inspect(&info, &m));
  CHECK_NEAR(info.volume, 1, 2e-8); /* the jitter */
  kn_pose pose = {{0, -1, 0, 1, 0, 0, 0, 0, 1}, {5, 6, 7}};
  CHECK_OK(kn_mesh_data_transform(&m, &pose));
  CHECK_OK(kn_mesh_data_inspect(&info, &m));
  CHECK_NEAR(info.volume, 1, 2e-8);
  CHECK_NEAR(info.low[0], 5, 1e-8);
  CHECK_NEAR(info.high[0], 8, 1e-8);
  double bad_scale[3] = {1, NAN, 1};
  CHECK_STATUS(kn_mesh_data_scale(&m, bad_scale), KN_BAD_ARGUMENT);
  kn_mesh_data_free(&m);
  t[5] = 12;
  CHECK_STATUS(kn_mesh_data_create(&m, x, 12, t, 4), KN_BAD_ARGUMENT);
  t[5] = 5, x[7] = INFINITY;
  CHECK_STATUS(kn_mesh_data_create(&m, x, 12, t, 4), KN_NOT_FINITE);
}

static void load_below(const char* folder, int depth, int* read, int* other) {
  DIR* dir = opendir(folder);
  struct dirent* e;
  while (dir && (e = readdir(dir))) {
    char path[4096];
    struct stat st;
    if (e->d_name[0] == '.' || snprintf(path, sizeof path, "%s/%s", folder, e->d_name) >= (int)sizeof path)
      continue;
    if (stat(path, &st)) continue;
    if (S_ISDIR(st.st_mode) && depth < 12) load_below(path, depth + 1, read, other);
    const char* dot = strrchr(e->d_name, '.');
    if (!dot || S_ISDIR(st.st_mode)) continue;
    int mesh = !strcmp(dot, ".stl") || !strcmp(dot, ".STL") || !strcmp(dot, ".obj");
    int more = kn_mesh_has_assimp() && !strcmp(dot, ".dae");
    if (!mesh && !more) continue;
    kn_mesh_data m;
    kn_mesh_info info;
    kn_status status = kn_mesh_data_load(&m, path);
    if (!kn_check(status == KN_OK, path, __FILE__, __LINE__)) continue;
    *(mesh ? read : other) += 1;
    CHECK_OK(kn_mesh_data_inspect(&info, &m));
    CHECK(m.ntriangle > 0 && info.area > 0);
    kn_mesh_data_free(&m);
  }
  if (dir) closedir(dir);
}

TEST(every_mesh_of_the_robot_collections_loads) {
  const char* root = kn_test_data("models");
  if (!root) SKIP("shared data not present");
  char folder[4096];
  snprintf(folder, sizeof folder, "%s", root);
  int read = 0, other = 0;
  load_below(folder, 0, &read, &other);
  printf("  %d STL/OBJ and %d COLLADA files\n", read, other);
  CHECK(read > 0);
}
